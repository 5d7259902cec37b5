package io.leasehold.quorum;

/** The reason why a node's votes do not count at present. Pure. */
sealed interface Distrust {

    /** The human-readable reason, to follow the node's name. */
    String text();

    /**
     * The node has the run id of another node.
     *
     * @param other that node's name
     */
    record SameServer(String other) implements Distrust {
        @Override
        public String text() {
            return "is the same server as " + other + ": one server has one vote";
        }
    }

    /**
     * The node's clock jumped relative to our monotonic one.
     *
     * @param micros by how much
     * @param leftNanos for how long it is still excluded
     */
    record Jumped(long micros, long leftNanos) implements Distrust {
        @Override
        public String text() {
            return "its clock jumped by " + seconds(micros)
                    + " against ours, beyond 20 ms + 1 % of the time; excluded for " + wholeSeconds(leftNanos)
                    + " more";
        }
    }

    /**
     * The node's clock is too far from the median of all nodes.
     *
     * @param micros by how much
     * @param leftNanos for how long it is still excluded
     */
    record Skewed(long micros, long leftNanos) implements Distrust {
        @Override
        public String text() {
            return "its clock is " + seconds(micros) + " from the median of all nodes; excluded for "
                    + wholeSeconds(leftNanos) + " more";
        }
    }

    private static String seconds(long micros) {
        return (micros > 0 ? "+" : "") + micros / 1e6 + " s";
    }

    private static String wholeSeconds(long nanos) {
        return Math.max(1, (nanos + 999_999_999L) / 1_000_000_000L) + " s";
    }
}
