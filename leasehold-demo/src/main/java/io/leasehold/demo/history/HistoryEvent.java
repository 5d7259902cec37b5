package io.leasehold.demo.history;

import java.util.Locale;
import java.util.Optional;

/**
 * One line of a worker's history: an action, with its time by the clock that all processes of one machine share ({@link
 * System#nanoTime()} is machine-wide on Linux and macOS).
 *
 * @param worker its writer
 * @param atNanos its time; for an acquisition after the grant, for a release before the request
 * @param kind its kind
 * @param fencingToken the lease's token, or 0 where there is no lease
 * @param validUntilNanos the end of the time for which the worker may rely on its hold, to its knowledge then; {@code
 *     atNanos} if that has passed, or if there is no lock
 * @param counter the value written to the counter, or 0
 * @param detail the reason, in one word; {@value #NO_DETAIL} if there is none
 */
public record HistoryEvent(
        String worker, long atNanos, Kind kind, long fencingToken, long validUntilNanos, long counter, String detail) {

    /** The placeholder for no detail. */
    public static final String NO_DETAIL = "-";

    private static final int COLUMNS = 6;

    /** The kinds of event. */
    public enum Kind {
        /** It is connected. */
        READY,
        /** It has requested the lock. */
        WAITING,
        /** It may use the counter from here on. */
        ACQUIRED,
        /** It is about to write the counter. */
        WRITING,
        /** It has written the counter. */
        INCREMENTED,
        /** The counter refused its read or write because of a stale token. */
        REJECTED,
        /** It releases the lock. */
        RELEASED,
        /**
         * It was notified, before it had finished, that its lease had ended or was about to; the detail is the cause.
         */
        LOST,
        /** It gave up a lock that has no holder and will never be free. */
        LOCKED_OUT
    }

    /** The line in the file, without its end; the worker's name is that of the file. */
    String line() {
        return atNanos + " " + kind.name().toLowerCase(Locale.ROOT) + " " + fencingToken + " " + validUntilNanos + " "
                + counter + " " + detail;
    }

    /** Parses a line; empty if it is invalid, such as one that a killed process left unfinished. */
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

    /** Whether the worker believes after this event that it holds the lock. */
    public boolean holds() {
        return kind == Kind.ACQUIRED || kind == Kind.WRITING || kind == Kind.INCREMENTED;
    }

    /** Whether, to the worker's knowledge, any validity was left. */
    boolean isValid() {
        return validUntilNanos - atNanos > 0;
    }

    /** The earlier of two by the shared clock. */
    public static int byTime(HistoryEvent one, HistoryEvent other) {
        return Long.signum(one.atNanos - other.atNanos);
    }
}
