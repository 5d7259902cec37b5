package io.leasehold.admin;

import io.leasehold.LockName;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A client's description of itself for operators while it holds a lock for longer than a second. The store keeps it, if it
 * can, until some seconds after the client's end. It proves nothing, and nothing depends on it.
 *
 * @param holderId the id under which it holds
 * @param host the machine
 * @param pid the process
 * @param application its label, or empty
 * @param since when the client was made, by its own clock
 * @param holds its holds, the longest first, at most {@value #MAX_HOLDS}
 * @param reportedAt when it reported this, by its own clock; null if it did not say
 */
public record ClientRecord(
        String holderId,
        String host,
        long pid,
        String application,
        Instant since,
        List<ClientHold> holds,
        @Nullable Instant reportedAt) {

    /** The maximum number of listed holds. */
    public static final int MAX_HOLDS = 500;

    /** A client that holds something reports this often. */
    public static final Duration INTERVAL = Duration.ofSeconds(5);

    /** A store keeps a report this long: long enough to bridge two that were lost. */
    public static final Duration KEPT = Duration.ofSeconds(16);

    private static final String VERSION = "1";

    /**
     * One hold.
     *
     * @param lock the lock's name
     * @param thread the name of the thread that acquired it, or empty if it was acquired asynchronously
     * @param since when, by the client's own clock
     * @param renewals how often it was renewed
     */
    public record ClientHold(String lock, String thread, Instant since, long renewals) {
        /** Refuses nulls. */
        public ClientHold {
            Objects.requireNonNull(lock, "lock");
            Objects.requireNonNull(thread, "thread");
            Objects.requireNonNull(since, "since");
        }
    }

    /** Refuses nulls. */
    public ClientRecord {
        Objects.requireNonNull(holderId, "holderId");
        Objects.requireNonNull(host, "host");
        Objects.requireNonNull(application, "application");
        Objects.requireNonNull(since, "since");
        holds = List.copyOf(holds);
    }

    /** A record that does not say when it was reported. */
    public ClientRecord(
            String holderId, String host, long pid, String application, Instant since, List<ClientHold> holds) {
        this(holderId, host, pid, application, since, holds, null);
    }

    /** The hold of this lock. */
    public Optional<ClientHold> holdOf(LockName name) {
        return holds.stream().filter(hold -> hold.lock().equals(name.text())).findFirst();
    }

    /** The encoding at stores: fields separated by tabs, one line for the client and one for each hold. */
    public String encoded() {
        StringBuilder text = new StringBuilder();
        List<String> head = new ArrayList<>(
                List.of(VERSION, holderId, host, Long.toString(pid), application, Long.toString(since.toEpochMilli())));
        if (reportedAt != null) {
            head.add(Long.toString(reportedAt.toEpochMilli()));
        }
        line(text, head.toArray(String[]::new));
        for (ClientHold hold : holds) {
            line(
                    text,
                    hold.lock(),
                    hold.thread(),
                    Long.toString(hold.since().toEpochMilli()),
                    Long.toString(hold.renewals()));
        }
        return text.toString();
    }

    private static void line(StringBuilder text, String... fields) {
        for (int i = 0; i < fields.length; i++) {
            text.append(i == 0 ? "" : "\t");
            fields[i].codePoints().forEach(c -> text.appendCodePoint(Character.isISOControl(c) ? '?' : c));
        }
        text.append('\n');
    }

    /** Decodes the text of {@link #encoded}; empty for any other text, since any client can write to a store. */
    public static Optional<ClientRecord> decoded(String text) {
        List<String> lines = text.lines().toList();
        if (lines.isEmpty()) {
            return Optional.empty();
        }
        String[] head = lines.get(0).split("\t", -1);
        if (head.length < 6 || !head[0].equals(VERSION)) {
            return Optional.empty();
        }
        try {
            List<ClientHold> holds = new ArrayList<>();
            for (String line : lines.subList(1, Math.min(lines.size(), MAX_HOLDS + 1))) {
                String[] fields = line.split("\t", -1);
                holds.add(new ClientHold(fields[0], fields[1], instant(fields[2]), Long.parseLong(fields[3])));
            }
            Instant reportedAt = head.length > 6 ? instant(head[6]) : null;
            return Optional.of(new ClientRecord(
                    head[1], head[2], Long.parseLong(head[3]), head[4], instant(head[5]), holds, reportedAt));
        } catch (RuntimeException notOurs) {
            return Optional.empty();
        }
    }

    private static Instant instant(String millis) {
        return Instant.ofEpochMilli(Long.parseLong(millis));
    }
}
