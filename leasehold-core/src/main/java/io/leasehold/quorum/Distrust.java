package io.leasehold.quorum;

/**
 * The reason why a node's votes do not count at present. Pure.
 *
 * @param text a human-readable text that follows the node's name
 * @param isSameServer whether the reason is that the node has the run id of another node
 */
record Distrust(String text, boolean isSameServer) {

    /** The reason if the node has the run id of another node, which has this name. */
    static Distrust sameServer(String other) {
        return new Distrust("is the same server as " + other + ": one server has one vote", true);
    }

    /** The reason if the node's clock jumped relative to the client's monotonic clock. */
    static Distrust jumped(long micros, long leftNanos) {
        String text =
                "its clock jumped by " + seconds(micros) + " relative to this client's, beyond 20 ms + 1 % of the time";
        return new Distrust(text + excluded(leftNanos), false);
    }

    /** The reason if the node's clock is too far from the median of all nodes. */
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
