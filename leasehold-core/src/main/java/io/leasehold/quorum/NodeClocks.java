package io.leasehold.quorum;

import io.leasehold.node.BallotClock;
import io.leasehold.spi.Incarnation;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The clocks of the nodes of a set, and which of them are trusted. Pure: time comes in as numbers.
 *
 * <p>The clock of the set is the lower median of the nodes' clocks in their answers, over at least a quorum of nodes; each
 * estimate is reduced by the drift since its last answer, so that it is never ahead of a clock that runs slower than ours. Our
 * wall clock has no influence.
 *
 * <p>A node whose clock jumps against our monotonic clock, or is further from the median than half the bound, grants
 * nothing to us for at least the largest ttl: a jump forwards ends its keys early. If a quorum jumps by the same span, our
 * clock was paused. A node with the run id of another one is the same server, and has one vote.
 */
final class NodeClocks {

    private static final long JUMP_TOLERANCE_MICROS = 20_000;

    /** The difference that is not a jump: ρ, 1 % of the time between two answers. */
    private static final long RATE_PARTS = 100;

    private final String[] nodes;
    private final int quorum;
    private final long exclusionNanos;
    private final long maxSkewMicros;
    private final Watch[] watches;

    /**
     * Creates nodes without any sample yet.
     *
     * @param exclusionNanos the least time for which a node is excluded: maxTtl (1 + ρ)
     * @param boundMicros B
     */
    NodeClocks(List<String> nodes, long exclusionNanos, long boundMicros) {
        this.nodes = nodes.toArray(String[]::new);
        this.quorum = Quorum.majority(nodes.size());
        this.exclusionNanos = exclusionNanos;
        this.maxSkewMicros = boundMicros / 2;
        this.watches = new Watch[nodes.size()];
        for (int node = 0; node < watches.length; node++) {
            watches[node] = new Watch();
        }
    }

    /** The samples of one node's clock. */
    private static final class Watch {
        private final BallotClock clock = new BallotClock();
        private @Nullable Incarnation incarnation;
        private long sampledAtNanos;
        /** Bounds of S − now. */
        private long minMicros;

        private long maxMicros;
        private long jumpMicros;
        private long jumpedAtNanos;
        private boolean jumped;
        private boolean skewed;
        private long skewedAtNanos;
        private long skewMicros;

        long offsetMicros() {
            return minMicros + (maxMicros - minMicros) / 2;
        }
    }

    /** Processes an answer of a node: S is {@code serverMicros}. */
    void answered(int node, Incarnation from, long serverMicros, long sentAtNanos, long receivedAtNanos) {
        Watch watch = watches[node];
        long most = serverMicros - sentAtNanos / 1_000;
        long least = serverMicros - receivedAtNanos / 1_000;
        long sinceNanos = receivedAtNanos - watch.sampledAtNanos;
        // Also across a restart: a clock that was set meanwhile has ended keys early, if the node kept them.
        if (watch.incarnation == null || sinceNanos > 2 * exclusionNanos) {
            watch.minMicros = least;
            watch.maxMicros = most;
        } else {
            compare(watch, least, most, receivedAtNanos, Math.max(0, sinceNanos) / 1_000 / RATE_PARTS);
        }
        watch.incarnation = from;
        watch.sampledAtNanos = receivedAtNanos;
        watch.clock.answered(from, serverMicros, sentAtNanos, receivedAtNanos);
        checkSkew(receivedAtNanos);
    }

    private static void compare(Watch watch, long least, long most, long nowNanos, long rateMicros) {
        long lowest = watch.minMicros - rateMicros;
        long highest = watch.maxMicros + rateMicros;
        boolean forwards = least > highest + JUMP_TOLERANCE_MICROS;
        boolean backwards = most < lowest - JUMP_TOLERANCE_MICROS;
        if (forwards || backwards) {
            watch.jumped = true;
            watch.jumpedAtNanos = nowNanos;
            watch.jumpMicros = (least + most) / 2 - watch.offsetMicros();
            watch.minMicros = least;
            watch.maxMicros = most;
            return;
        }
        // The range that both answers allow. If it is empty, part of the tolerance is used up, until the clock has come
        // back
        // by less than ρ: otherwise a clock that runs too fast would be excused a little at each of many answers.
        watch.minMicros = Math.min(Math.max(lowest, least), highest);
        watch.maxMicros = Math.max(Math.min(highest, most), lowest);
    }

    private void checkSkew(long nowNanos) {
        List<Watch> comparable = comparable(nowNanos);
        if (comparable.size() < quorum) {
            return;
        }
        long median =
                Quorum.lowerMedian(comparable.stream().map(Watch::offsetMicros).toList());
        for (Watch watch : comparable) {
            long skew = watch.offsetMicros() - median;
            if (Math.abs(skew) > maxSkewMicros) {
                watch.skewed = true;
                watch.skewedAtNanos = nowNanos;
                watch.skewMicros = skew;
            }
        }
    }

    /** Nodes with comparable offsets: measured since the last pause of our clock, and without a jump of their own. */
    private List<Watch> comparable(long nowNanos) {
        List<Watch> found = new ArrayList<>();
        boolean stoodStill = false;
        long sinceAtNanos = 0;
        for (Watch watch : watches) {
            if (isRecent(watch.jumped, watch.jumpedAtNanos, nowNanos) && ownClockPaused(watch, nowNanos)) {
                sinceAtNanos =
                        stoodStill && watch.jumpedAtNanos - sinceAtNanos > 0 ? sinceAtNanos : watch.jumpedAtNanos;
                stoodStill = true;
            }
        }
        for (Watch watch : watches) {
            boolean ownJump = isRecent(watch.jumped, watch.jumpedAtNanos, nowNanos) && !ownClockPaused(watch, nowNanos);
            boolean before = stoodStill && watch.sampledAtNanos - sinceAtNanos < 0;
            if (isFresh(watch, nowNanos) && !ownJump && !before) {
                found.add(watch);
            }
        }
        return found;
    }

    private boolean isFresh(Watch watch, long nowNanos) {
        return watch.incarnation != null && nowNanos - watch.sampledAtNanos < exclusionNanos;
    }

    /** The clock of the set, in µs, or empty while fewer than a quorum of nodes have answered. */
    OptionalLong estimateMicros(long nowNanos) {
        List<Long> believed = new ArrayList<>();
        List<Long> all = new ArrayList<>();
        for (int node = 0; node < nodes.length; node++) {
            OptionalLong one = nodeEstimateMicros(node, nowNanos);
            if (one.isPresent()) {
                all.add(one.getAsLong());
                if (distrust(node, nowNanos) == null) {
                    believed.add(one.getAsLong());
                }
            }
        }
        if (all.size() < quorum) {
            return OptionalLong.empty();
        }
        return OptionalLong.of(Quorum.lowerMedian(believed.size() >= quorum ? believed : all));
    }

    /** One node's clock, in µs, at most one shortest one-way delay ahead of it. */
    OptionalLong nodeEstimateMicros(int node, long nowNanos) {
        OptionalLong estimate = watches[node].clock.estimateMicros(nowNanos);
        if (estimate.isEmpty()) {
            return estimate;
        }
        long sinceMicros = Math.max(0, nowNanos - watches[node].sampledAtNanos) / 1_000;
        return OptionalLong.of(estimate.getAsLong() - sinceMicros / RATE_PARTS);
    }

    /** The reason why this node's vote does not count now, or null if it does. */
    @Nullable
    Distrust distrust(int node, long nowNanos) {
        Watch watch = watches[node];
        for (int other = 0; other < node; other++) {
            if (watch.incarnation != null && Objects.equals(watch.incarnation, watches[other].incarnation)) {
                return new Distrust.SameServer(nodes[other]);
            }
        }
        if (isRecent(watch.jumped, watch.jumpedAtNanos, nowNanos) && !ownClockPaused(watch, nowNanos)) {
            return new Distrust.Jumped(watch.jumpMicros, leftNanos(watch.jumpedAtNanos, nowNanos));
        }
        if (isRecent(watch.skewed, watch.skewedAtNanos, nowNanos)) {
            return new Distrust.Skewed(watch.skewMicros, leftNanos(watch.skewedAtNanos, nowNanos));
        }
        return null;
    }

    /** The least time until {@link #distrust} can end. */
    long excludedNanos(int node, long nowNanos) {
        Watch watch = watches[node];
        long left = 0;
        if (isRecent(watch.jumped, watch.jumpedAtNanos, nowNanos)) {
            left = leftNanos(watch.jumpedAtNanos, nowNanos);
        }
        if (isRecent(watch.skewed, watch.skewedAtNanos, nowNanos)) {
            left = Math.max(left, leftNanos(watch.skewedAtNanos, nowNanos));
        }
        return left;
    }

    private long leftNanos(long sinceAtNanos, long nowNanos) {
        return exclusionNanos - (nowNanos - sinceAtNanos);
    }

    private boolean isRecent(boolean happened, long atNanos, long nowNanos) {
        return happened && nowNanos - atNanos < exclusionNanos;
    }

    private boolean ownClockPaused(Watch jumper, long nowNanos) {
        int same = 0;
        for (Watch watch : watches) {
            long difference = Math.abs(watch.jumpMicros - jumper.jumpMicros);
            if (isRecent(watch.jumped, watch.jumpedAtNanos, nowNanos)
                    && difference <= 2 * JUMP_TOLERANCE_MICROS + Math.abs(jumper.jumpMicros) / RATE_PARTS) {
                same++;
            }
        }
        return same >= quorum;
    }
}
