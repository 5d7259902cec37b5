package io.leasehold.cli.demo;

import java.util.Locale;

/**
 * One thing that happened, as whoever did it wrote it down: a line of the history.
 *
 * @param atNanos when, on the clock that all processes of this machine share
 * @param worker who, from 1
 * @param kind what
 * @param token the fencing token of the lease; zero without a lock, or while waiting
 * @param value what was read from the counter, or written to it; zero where neither
 */
record HistoryEvent(long atNanos, int worker, Kind kind, long token, long value) {

    /** What can happen. */
    enum Kind {
        /** The worker asks for the lock. */
        WAITS,
        /** It is inside the guarded section and has read the counter. */
        ENTERS,
        /** It has written the counter and is about to leave. */
        LEAVES,
        /** It was killed with SIGKILL. */
        KILLED
    }

    String line() {
        return atNanos + " " + worker + " " + kind.name().toLowerCase(Locale.ROOT) + " " + token + " " + value;
    }

    static HistoryEvent parse(String line) {
        String[] fields = line.split(" ", -1);
        if (fields.length != 5) {
            throw new IllegalArgumentException("\"" + line + "\" is no line of a history: it has " + fields.length
                    + " fields; there must be 5: time worker event token value");
        }
        try {
            return new HistoryEvent(
                    Long.parseLong(fields[0]),
                    Integer.parseInt(fields[1]),
                    Kind.valueOf(fields[2].toUpperCase(Locale.ROOT)),
                    Long.parseLong(fields[3]),
                    Long.parseLong(fields[4]));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("\"" + line + "\" is no line of a history: " + e.getMessage(), e);
        }
    }
}
