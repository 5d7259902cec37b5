package io.leasehold.admin;

import io.leasehold.LockName;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A client's description of itself for operators while it holds a lock for longer than a second. The store keeps it, if
 * it can, until some seconds after the client's end. It proves nothing, and no decision depends on it.
 *
 * @param holderId the id under which it holds
 * @param host the machine
 * @param pid the process
 * @param application its label, or empty
 * @param since the time when the client was created, by its own clock
 * @param holds its holds, the longest first, at most {@value #MAX_HOLDS}
 * @param reportedAt the time of this report, by the client's own clock; null if unknown
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

    /** The interval at which a client reports while it holds a lock. */
    public static final Duration INTERVAL = Duration.ofSeconds(5);

    /** The time for which a store keeps a report: long enough to bridge two lost reports. */
    public static final Duration KEPT = Duration.ofSeconds(16);

    private static final String VERSION = "1";
    private static final Pattern CONTROL = Pattern.compile("[\\x00-\\x1F\\x7F-\\x9F]");

    /**
     * One hold.
     *
     * @param lock the lock's name
     * @param thread the name of the thread that acquired it, or empty if it was acquired asynchronously
     * @param since the time when it began, by the client's own clock
     * @param renewals the number of its renewals
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

    /** Creates a record without the time of the report. */
    public ClientRecord(
            String holderId, String host, long pid, String application, Instant since, List<ClientHold> holds) {
        this(holderId, host, pid, application, since, holds, null);
    }

    /** Returns the hold of this lock, if the record lists it. */
    public Optional<ClientHold> holdOf(LockName name) {
        String listed = listed(name);
        return holds.stream().filter(hold -> hold.lock().equals(listed)).findFirst();
    }

    /**
     * Returns the text under which a record lists a hold of this lock; those of permits and readers differ from that of a
     * lock.
     */
    public static String listed(LockName name) {
        return name.isPermits() ? "permits " + name.text() : name.isRead() ? "readers " + name.text() : name.text();
    }

    /** The encoding at stores: fields separated by tabs, one line for the client and one for each hold. */
    public String encoded() {
        List<Object> head = new ArrayList<>(List.of(VERSION, holderId, host, pid, application, since.toEpochMilli()));
        if (reportedAt != null) {
            head.add(reportedAt.toEpochMilli());
        }
        StringBuilder text = new StringBuilder(line(head));
        for (ClientHold hold : holds) {
            text.append(line(List.of(hold.lock(), hold.thread(), hold.since().toEpochMilli(), hold.renewals())));
        }
        return text.toString();
    }

    private static String line(List<?> fields) {
        return fields.stream()
                .map(field -> CONTROL.matcher(field.toString()).replaceAll("?"))
                .collect(Collectors.joining("\t", "", "\n"));
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
