package io.leasehold.quorum;

/**
 * The reason why a node's votes do not count at present. Pure.
 *
 * @param text human-readable, to follow the node's name
 * @param isSameServer whether it is that the node has the run id of another node
 */
record Distrust(String text, boolean isSameServer) {

    /** The node has the run id of another node, with this name. */
    static Distrust sameServer(String other) {
        return new Distrust("is the same server as " + other + ": one server has one vote", true);
    }

    /** The node's clock jumped relative to our monotonic one. */
    static Distrust jumped(long micros, long leftNanos) {
        String text = "its clock jumped by " + seconds(micros) + " against ours, beyond 20 ms + 1 % of the time";
        return new Distrust(text + excluded(leftNanos), false);
    }

    /** The node's clock is too far from the median of all nodes. */
    static Distrust skewed(long micros, long leftNanos) {
        String text = "its clock is " + seconds(micros) + " from the median of all nodes";
        return new Distrust(text + excluded(leftNanos), false);
    }

    private static String seconds(long micros) {
        return (micros > 0 ? "+" : "") + micros / 1e6 + " s";
    }

    private static String excluded(long leftNanos) {
        return "; excluded for " + Math.max(1, (leftNanos + 999_999_999L) / 1_000_000_000L) + " s more";
    }
}
