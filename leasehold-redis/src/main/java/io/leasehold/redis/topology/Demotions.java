package io.leasehold.redis.topology;

/**
 * Decides when a client leaves a server that takes no writes, because another server may have its name now.
 *
 * <p>The client leaves a server at once if it was a master when the link was made, and at most once a second. If the name
 * still leads to a replica, the pauses double up to eight seconds: a replica that is named by mistake sees few
 * connections. Safe for all threads.
 */
final class Demotions {

    private static final long FIRST_PAUSE_NANOS = 1_000_000_000L;
    private static final long LONGEST_PAUSE_NANOS = 8_000_000_000L;

    private boolean hasLeft;
    private long leftAtNanos;
    private long pauseNanos = FIRST_PAUSE_NANOS;

    /**
     * Whether to close a link whose server has refused a write because it is a replica. If so, the caller closes it.
     *
     * @param wasReplica whether the server was a replica when the link was made
     */
    synchronized boolean leaves(boolean wasReplica, long nowNanos) {
        if (hasLeft && nowNanos - leftAtNanos < pauseNanos) {
            return false;
        }
        pauseNanos = wasReplica && hasLeft ? Math.min(2 * pauseNanos, LONGEST_PAUSE_NANOS) : FIRST_PAUSE_NANOS;
        hasLeft = true;
        leftAtNanos = nowNanos;
        return true;
    }
}
