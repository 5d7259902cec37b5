package io.leasehold.demo.history;

import java.util.Locale;
import java.util.Optional;

/**
 * One line of a worker's history: what it did, and when by the clock that all processes of one machine share
 * ({@link System#nanoTime()} is machine-wide on Linux and macOS).
 *
 * @param worker who wrote it
 * @param atNanos when; for an acquisition after it was granted, for a release before it was asked for
 * @param kind what
 * @param fencingToken the lease's token, or 0 where there is no lease
 * @param validUntilNanos until when the worker may rely on its hold, as it knew then; just {@code atNanos} if that is over,
 *     or if there is no lock
 * @param counter the value written to the counter, or 0
 * @param detail why, in one word; {@value #NO_DETAIL} if there is nothing to say
 */
public record HistoryEvent(
        String worker, long atNanos, Kind kind, long fencingToken, long validUntilNanos, long counter, String detail) {

    /** Instead of a detail. */
    public static final String NO_DETAIL = "-";

    private static final int COLUMNS = 6;

    /** What can happen to a worker. */
    public enum Kind {
        /** It is connected. */
        READY,
        /** It has asked for the lock. */
        WAITING,
        /** It may touch the counter from here on. */
        ACQUIRED,
        /** It is about to write the counter. */
        WRITING,
        /** It has written the counter. */
        INCREMENTED,
        /** It wanted to read or write the counter, and was refused for its stale token. */
        REJECTED,
        /** It gives the lock back. */
        RELEASED,
        /** It heard that its lease had ended, or was about to, before it was done; the detail is the cause. */
        LOST,
        /** It gave up a lock that nobody holds and nobody will ever free. */
        LOCKED_OUT
    }

    /** The line in the file, without its end; the worker's name is that of the file. */
    String line() {
        return atNanos + " " + kind.name().toLowerCase(Locale.ROOT) + " " + fencingToken + " " + validUntilNanos + " "
                + counter + " " + detail;
    }

    /** Reads a line back; empty if it is none of ours, such as one that a killed process left unfinished. */
    static Optional<HistoryEvent> parse(String worker, String line) {
        String[] columns = line.split(" ", -1);
        if (columns.length != COLUMNS) {
            return Optional.empty();
        }
        try {
            return Optional.of(new HistoryEvent(
                    worker,
                    Long.parseLong(columns[0]),
                    Kind.valueOf(columns[1].toUpperCase(Locale.ROOT)),
                    Long.parseLong(columns[2]),
                    Long.parseLong(columns[3]),
                    Long.parseLong(columns[4]),
                    columns[5]));
        } catch (IllegalArgumentException notOurs) {
            return Optional.empty();
        }
    }

    /** Whether the worker holds, or believes so, after this event. */
    public boolean holds() {
        return kind == Kind.ACQUIRED || kind == Kind.WRITING || kind == Kind.INCREMENTED;
    }

    /** Whether, as the worker knew, any validity was left. */
    boolean isValid() {
        return validUntilNanos - atNanos > 0;
    }

    /** The earlier of two by the shared clock. */
    public static int byTime(HistoryEvent one, HistoryEvent other) {
        return Long.signum(one.atNanos - other.atNanos);
    }
}
