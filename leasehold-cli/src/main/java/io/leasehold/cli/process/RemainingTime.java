package io.leasehold.cli.process;

/** The time that a command has left, because of its lease. */
@FunctionalInterface
public interface RemainingTime {

    /** The time that is left now; zero or less if there is none. */
    long nanos();

    /** When to look again at the latest, even if nothing has happened: the time left may change by then. */
    default long lookAgainNanos() {
        return Long.MAX_VALUE;
    }
}
