package io.leasehold.quorum;

import io.leasehold.Durations;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Checks the configuration of a set of nodes; messages show the calculation. Pure. */
final class NodeSetCheck {

    private static final Duration MIN_MAX_TTL = Duration.ofMillis(200);
    private static final Duration LARGEST_MAX_TTL = Duration.ofHours(24);
    private static final int MAX_NODES = 32;

    private NodeSetCheck() {}

    /**
     * Checks a set.
     *
     * @return warnings about allowed configurations, one sentence each
     * @throws IllegalArgumentException if the set is invalid; the message has the offending value and the rule
     */
    static List<String> check(List<String> names, QuorumSettings settings) {
        int n = names.size();
        if (n == 0 || n > MAX_NODES) {
            throw new IllegalArgumentException("redlock with " + n + " nodes; it needs 1 to " + MAX_NODES
                    + " of them: write redlock:?node=redis%3A%2F%2Fa%3A6379&node=…");
        }
        Set<String> seen = new HashSet<>();
        for (String name : names) {
            if (!seen.add(name)) {
                throw new IllegalArgumentException("node " + name + " is named twice: one server has one vote");
            }
        }
        Duration maxTtl = settings.maxTtl();
        if (maxTtl.compareTo(MIN_MAX_TTL) < 0 || maxTtl.compareTo(LARGEST_MAX_TTL) > 0) {
            throw new IllegalArgumentException("maxTtl is " + Durations.text(maxTtl) + "; it must be between "
                    + Durations.text(MIN_MAX_TTL) + " and " + Durations.text(LARGEST_MAX_TTL));
        }
        Duration timeout = settings.nodeTimeoutFor(maxTtl);
        if (timeout.compareTo(Duration.ofMillis(1)) < 0
                || timeout.multipliedBy(4).compareTo(maxTtl) > 0) {
            throw new IllegalArgumentException(
                    "nodeTimeout is " + Durations.text(timeout) + "; it must be between 1 ms and a quarter of maxTtl "
                            + Durations.text(maxTtl)
                            + ", since a round may take two of them");
        }
        return notes(n);
    }

    private static List<String> notes(int n) {
        int quorum = Quorum.majority(n);
        List<String> notes = new ArrayList<>();
        if (n == 1) {
            notes.add("redlock over 1 node: its quorum is that node, so it gains nothing over a plain redis: URI, and"
                    + " waiters lose their order");
        } else if (n == 2) {
            notes.add("redlock over 2 nodes: the quorum is 2, so either node's failure stops all locking; with 3 nodes"
                    + " one may fail");
        } else if (n % 2 == 0) {
            notes.add("redlock over " + n + " nodes: the quorum is " + quorum + ", so " + (n - quorum)
                    + " may fail, as many as of " + (n - 1) + "; the last node only adds one more vote to win");
        }
        return notes;
    }

    /**
     * The reason why a set cannot keep locks with a ttl, as a sentence, or empty. Possible reasons: a node that has
     * lost its state would be trusted again while the lock is still held, or a round may take longer than the lock is
     * valid.
     *
     * @param ownTimeoutNanos the node timeout of this lock, or zero for that of the set
     */
    static Optional<String> unfit(long ttlNanos, long ownTimeoutNanos, QuorumSettings settings) {
        if (ttlNanos > settings.maxTtl().toNanos()) {
            return Optional.of("ttl " + Durations.text(Duration.ofNanos(ttlNanos)) + " is above maxTtl "
                    + Durations.text(settings.maxTtl())
                    + " of this set: a node that has lost its state is trusted again after maxTtl, while the lock would still"
                    + " be held");
        }
        long timeoutNanos = settings.nodeTimeoutNanos(ttlNanos, ownTimeoutNanos);
        long driftNanos = QuorumSettings.driftNanos(ttlNanos);
        long validityNanos = ttlNanos - driftNanos;
        if (validityNanos > 2 * timeoutNanos) {
            return Optional.empty();
        }
        return Optional.of("ttl " + millis(ttlNanos) + " less drift " + millis(driftNanos) + " leaves "
                + millis(validityNanos) + ", and a round may take 2 × node timeout " + millis(timeoutNanos)
                + ": use a ttl above " + millis(3 * timeoutNanos + 2 * driftNanos) + " or a shorter nodeTimeout");
    }

    private static String millis(long nanos) {
        return nanos / 1e6 + " ms";
    }
}
