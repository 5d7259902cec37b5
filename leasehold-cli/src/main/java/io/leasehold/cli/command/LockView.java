package io.leasehold.cli.command;

import io.leasehold.Durations;
import io.leasehold.Guarantee;
import io.leasehold.Holder;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.LockAdmin;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.cli.StoreOption;
import io.leasehold.cli.output.Style;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The display of one lock with the data from its store.
 *
 * @param readers the readers that hold the lock, one more than is shown, if there are more
 * @param client the holder's own record, if there is one
 * @param waiters one more than is shown, if there are more; null if the store keeps no queue
 */
record LockView(
        LockName lock,
        @Nullable Holder holder,
        List<Holder> readers,
        @Nullable ClientView client,
        @Nullable List<QueuedWaiter> waiters) {

    private static final int MAX_WAITERS = 100;

    private static final int MAX_READERS = 100;

    /** A report that is older is overdue. */
    private static final Duration LATE = ClientRecord.INTERVAL.plusSeconds(1);

    private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9_./:@%+=,-]+");

    /** Reads the data. */
    static LockView of(LockClient locks, LockName lock) {
        LockAdmin admin = locks.admin();
        Holder holder = admin.inspect(lock).orElse(null);
        boolean line = locks.guarantees().covers(Guarantee.Queueing.FIFO);
        List<Holder> readers = holder != null && holder.isReaders() ? admin.readers(lock, MAX_READERS + 1) : List.of();
        return new LockView(
                lock,
                holder,
                readers,
                ClientView.of(admin, lock, holder),
                line ? admin.waiters(lock, MAX_WAITERS + 1) : null);
    }

    /** Adds the readers, the client and the waiters to a report, in this order. */
    void addTo(Map<String, @Nullable Object> report) {
        report.put(
                "readers",
                readers.stream().limit(MAX_READERS).map(HolderView::json).toList());
        report.put("client", ClientView.json(client));
        report.put(
                "waiters",
                waiters == null
                        ? null
                        : waiters.stream()
                                .limit(MAX_WAITERS)
                                .map(HolderView::json)
                                .toList());
    }

    /** The lines about the holder, its client and the waiters. */
    List<String> lines() {
        List<String> lines = new ArrayList<>();
        if (holder != null) {
            lines.add("holder    " + holder.id());
            lines.add("token     " + HolderView.token(holder));
            lines.add("left      " + HolderView.remaining(holder));
            lines.addAll(readerLines());
            RunLabel label = RunLabel.in(holder.id());
            if (label != null) {
                lines.add("command   " + label.command());
                lines.add("user      " + label.user());
            }
            if (client != null) {
                lines.addAll(client.lines());
            }
        }
        lines.addAll(line());
        return lines;
    }

    /** The id of the holder, or those of the readers. */
    List<String> holderIds() {
        if (holder == null) {
            return List.of();
        }
        return readers.isEmpty()
                ? List.of(holder.id())
                : readers.stream().map(Holder::id).toList();
    }

    private List<String> readerLines() {
        List<String> lines = new ArrayList<>();
        for (Holder reader : readers.subList(0, Math.min(readers.size(), MAX_READERS))) {
            lines.add((lines.isEmpty() ? "readers   " : "          ") + reader.id() + " ("
                    + HolderView.remaining(reader) + " left)");
        }
        if (readers.size() > MAX_READERS) {
            lines.add("          and more");
        }
        return lines;
    }

    private List<String> line() {
        if (waiters == null) {
            return List.of("waiters   not known: this store keeps no queue");
        }
        if (waiters.isEmpty()) {
            return List.of("waiters   none");
        }
        List<String> lines = new ArrayList<>();
        for (QueuedWaiter waiter : waiters.subList(0, Math.min(waiters.size(), MAX_WAITERS))) {
            lines.add((lines.isEmpty() ? "waiters   " : "          ") + HolderView.line(waiter));
        }
        if (waiters.size() > MAX_WAITERS) {
            lines.add("          and more");
        }
        return lines;
    }

    /**
     * The health of the holder, and possible actions.
     *
     * @param store the {@linkplain #words(StoreOption) words} for the same store
     */
    List<String> advice(Holder of, String store) {
        if (of.isReaders()) {
            return List.of(
                    "health    read by others; if none renews, the lock is free in " + HolderView.remaining(of),
                    "next      leasehold wait" + words(lock, store) + "    (until it is free)",
                    "          leasehold release" + words(lock, " --holder ID" + store)
                            + "    (ends one reader; --holder readers ends all)");
        }
        return List.of(
                "health    " + health(of),
                "next      leasehold wait" + words(lock, store) + "    (until it is free)",
                "          leasehold release" + words(lock, " --holder " + quoted(of.id()) + store)
                        + "    (a dry run; add --yes " + (isLikeAnOption(lock) ? "before the -- " : "")
                        + "to take the lock away)");
    }

    /** The style of the {@linkplain #advice health}: good if the client reports in time, plain if that is not known. */
    Style healthStyle() {
        if (holder != null && holder.isReaders()) {
            return Style.GOOD;
        } else if (client == null) {
            return Style.WARNING;
        }
        Duration age = client.age(Instant.now());
        return age == null ? Style.PLAIN : age.compareTo(LATE) < 0 ? Style.GOOD : Style.WARNING;
    }

    private String health(Holder of) {
        if (of.isTicket()) {
            return "kept for a ticket: unless it is resumed, the lock is free in " + HolderView.remaining(of);
        }
        String silent =
                "no report from its client: it may be gone, the hold may be under a second old, or this store keeps no"
                        + " reports";
        if (client != null) {
            Duration age = client.age(Instant.now());
            if (age == null) {
                return "its client reported within the last " + Durations.text(ClientRecord.KEPT)
                        + "; whether in time is not known ("
                        + (client.record().reportedAt() == null ? "the report has no time" : "the clocks differ")
                        + ")";
            }
            String seconds = Durations.text(Duration.ofSeconds(age.toSeconds()));
            if (age.compareTo(LATE) < 0) {
                return "alive: its client last reported " + seconds + " ago";
            }
            silent = "its client has been silent for " + seconds + " (it reports every "
                    + Durations.text(ClientRecord.INTERVAL) + ")";
        }
        return switch (of.ends()) {
            case BY_TTL -> silent + "; unless it renews, the lock is free in " + HolderView.remaining(of);
            case WITH_SESSION -> silent + "; the lock is free when its session ends";
            case NEVER -> silent + "; nothing frees the lock but its holder or an operator";
        };
    }

    /** The name and the options, to append to a verb: a name like an option follows all options. */
    static String words(LockName lock, String options) {
        String name = quoted(lock.text());
        return isLikeAnOption(lock) ? options + " -- " + name : " " + name + options;
    }

    /** The options that name the same store in another command: nothing if the environment names it, and no secret. */
    static String words(StoreOption store) {
        StringBuilder text = new StringBuilder();
        for (String uri : store.given()) {
            text.append(" --store ").append(StoreOption.holdsSecret(uri) ? "\u2026" : quoted(uri));
        }
        return text.toString();
    }

    private static boolean isLikeAnOption(LockName lock) {
        return lock.text().startsWith("-");
    }

    /** The text quoted as one shell word. */
    static String quoted(String word) {
        return PLAIN.matcher(word).matches() ? word : "'" + word.replace("'", "'\\''") + "'";
    }
}
