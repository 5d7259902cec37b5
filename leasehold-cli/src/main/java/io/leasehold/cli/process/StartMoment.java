package io.leasehold.cli.process;

/**
 * The time at which a command began to exist, for the decision on a signal to the whole process group: a signal that came
 * before did not reach the command. Pure.
 *
 * @param fromNanos when its start began, by the monotonic clock
 * @param toNanos when its start was over
 * @param fromUptime when its start began, by the up-time clock, in hundredths of a second
 * @param toUptime when its start was over
 * @param uptime when its process began, by the process table; a time outside of the start is by another clock
 */
record StartMoment(long fromNanos, long toNanos, long fromUptime, long toUptime, long uptime) {

    private static final long NANOS_PER_HUNDREDTH = 10_000_000L;
    /** A signal may have come so much before the thread that notes its time. */
    private static final long LATE_NANOS = 50_000_000L;

    /**
     * Whether the command may not have existed when a signal came.
     *
     * @param notedAtNanos when the signal was noted, by the monotonic clock
     */
    boolean mayFollow(long notedAtNanos) {
        long atNanos = notedAtNanos - LATE_NANOS;
        if (atNanos - fromNanos < 0) {
            return true;
        } else if (atNanos - toNanos > 0) {
            return false;
        }
        boolean isKnown = fromUptime > UptimeClock.UNKNOWN && uptime >= fromUptime && uptime <= toUptime;
        // An unknown time may be earlier: a signal that arrives twice does less harm than one that is lost.
        return !isKnown || fromUptime + (atNanos - fromNanos) / NANOS_PER_HUNDREDTH <= uptime;
    }
}
