package io.leasehold.quorum;

import io.leasehold.node.BallotClock;
import io.leasehold.spi.Incarnation;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The clocks of the nodes of a set, and which of them are trusted. Pure: receives time as numbers.
 *
 * <p>The clock of the set is the lower median of the nodes' clocks in their answers, over at least a quorum of nodes;
 * each estimate is reduced by the drift since its last answer, so that it is never ahead of a clock that runs slower
 * than this client's. The client's wall clock has no influence.
 *
 * <p>A node's votes do not count for at least the largest ttl in two cases: its clock jumps relative to the client's
 * monotonic clock, or its clock is further from the median than half the bound. A jump forwards ends its keys early. If
 * a quorum jumps by the same span, the client's clock was paused. Two nodes with the same run id are the same server,
 * which has one vote.
 */
final class NodeClocks {

    private static final long JUMP_TOLERANCE_MICROS = 20_000;

    /** The tolerated difference: ρ, 1 % of the time between two answers. */
    private static final long RATE_PARTS = 100;

    private final String[] nodes;
    private final int quorum;
    private final long exclusionNanos;
    private final long maxSkewMicros;
    private final ClockSamples[] samples;

    /**
     * Creates nodes without samples.
     *
     * @param exclusionNanos the minimum time for which a node is excluded: maxTtl (1 + ρ)
     * @param boundMicros B
     */
    NodeClocks(List<String> nodes, long exclusionNanos, long boundMicros) {
        this.nodes = nodes.toArray(String[]::new);
        this.quorum = Quorum.majority(nodes.size());
        this.exclusionNanos = exclusionNanos;
        this.maxSkewMicros = boundMicros / 2;
        this.samples = new ClockSamples[nodes.size()];
        Arrays.setAll(samples, node -> new ClockSamples());
    }

    /** The amount by which a clock was wrong, and the time. */
    private record Deviation(long micros, long atNanos) {}

    /** The samples of one node's clock. */
    private static final class ClockSamples {
        private final BallotClock clock = new BallotClock();
        private @Nullable Incarnation incarnation;
        private long sampledAtNanos;
        /** Bounds of S − now. */
        private long minMicros;

        private long maxMicros;
        private @Nullable Deviation jump;
        private @Nullable Deviation skew;

        long offsetMicros() {
            return minMicros + (maxMicros - minMicros) / 2;
        }
    }

    /** Processes an answer of a node: S is {@code serverMicros}. */
    void answered(int node, Incarnation from, long serverMicros, long sentAtNanos, long receivedAtNanos) {
        ClockSamples one = samples[node];
        long most = serverMicros - sentAtNanos / 1_000;
        long least = serverMicros - receivedAtNanos / 1_000;
        long sinceNanos = receivedAtNanos - one.sampledAtNanos;
        // Compare across a restart, too: if a clock was set meanwhile, it has ended keys early, if the node kept them.
        if (one.incarnation == null || sinceNanos > 2 * exclusionNanos) {
            one.minMicros = least;
            one.maxMicros = most;
        } else {
            compare(one, least, most, receivedAtNanos, Math.max(0, sinceNanos) / 1_000 / RATE_PARTS);
        }
        one.incarnation = from;
        one.sampledAtNanos = receivedAtNanos;
        one.clock.answered(from, serverMicros, sentAtNanos, receivedAtNanos);
        checkSkew(receivedAtNanos);
    }

    private static void compare(ClockSamples one, long least, long most, long nowNanos, long rateMicros) {
        long lowest = one.minMicros - rateMicros;
        long highest = one.maxMicros + rateMicros;
        boolean forwards = least > highest + JUMP_TOLERANCE_MICROS;
        boolean backwards = most < lowest - JUMP_TOLERANCE_MICROS;
        if (forwards || backwards) {
            one.jump = new Deviation((least + most) / 2 - one.offsetMicros(), nowNanos);
            one.minMicros = least;
            one.maxMicros = most;
            return;
        }
        // Keep the range that both answers allow. If it is empty, part of the tolerance is used up until the clock has
        // come back by less than ρ: otherwise a clock that runs too fast would be tolerated a little at each of many
        // answers.
        one.minMicros = Math.min(Math.max(lowest, least), highest);
        one.maxMicros = Math.max(Math.min(highest, most), lowest);
    }

    private void checkSkew(long nowNanos) {
        List<ClockSamples> comparable = comparable(nowNanos);
        if (comparable.size() < quorum) {
            return;
        }
        long[] offsets = new long[comparable.size()];
        Arrays.setAll(offsets, i -> comparable.get(i).offsetMicros());
        long median = Quorum.lowerMedian(offsets, offsets.length);
        for (ClockSamples one : comparable) {
            long skew = one.offsetMicros() - median;
            if (Math.abs(skew) > maxSkewMicros) {
                one.skew = new Deviation(skew, nowNanos);
            }
        }
    }

    /**
     * The nodes with comparable offsets. They were measured since the last pause of the client's clock and have no jump
     * of their own.
     */
    private List<ClockSamples> comparable(long nowNanos) {
        List<ClockSamples> found = new ArrayList<>();
        Deviation pause = null;
        for (ClockSamples one : samples) {
            Deviation jump = recent(one.jump, nowNanos);
            boolean earlier = pause == null || (jump != null && jump.atNanos() - pause.atNanos() < 0);
            pause = jump != null && earlier && ownClockPaused(jump, nowNanos) ? jump : pause;
        }
        for (ClockSamples one : samples) {
            boolean isFresh = one.incarnation != null && nowNanos - one.sampledAtNanos < exclusionNanos;
            boolean before = pause != null && one.sampledAtNanos - pause.atNanos() < 0;
            if (isFresh && !before && ownJump(one, nowNanos) == null) {
                found.add(one);
            }
        }
        return found;
    }

    /** The clock of the set, in µs, or empty while fewer than a quorum of nodes have answered. */
    OptionalLong estimateMicros(long nowNanos) {
        long[] believed = new long[nodes.length];
        long[] all = new long[nodes.length];
        int believedCount = 0;
        int count = 0;
        for (int node = 0; node < nodes.length; node++) {
            OptionalLong one = nodeEstimateMicros(node, nowNanos);
            if (one.isPresent()) {
                all[count++] = one.getAsLong();
                if (distrust(node, nowNanos) == null) {
                    believed[believedCount++] = one.getAsLong();
                }
            }
        }
        if (count < quorum) {
            return OptionalLong.empty();
        }
        return OptionalLong.of(
                believedCount >= quorum ? Quorum.lowerMedian(believed, believedCount) : Quorum.lowerMedian(all, count));
    }

    /** One node's clock, in µs, at most one shortest one-way delay ahead of it. */
    OptionalLong nodeEstimateMicros(int node, long nowNanos) {
        OptionalLong estimate = samples[node].clock.estimateMicros(nowNanos);
        if (estimate.isEmpty()) {
            return estimate;
        }
        long sinceMicros = Math.max(0, nowNanos - samples[node].sampledAtNanos) / 1_000;
        return OptionalLong.of(estimate.getAsLong() - sinceMicros / RATE_PARTS);
    }

    /** The reason why this node's vote does not count now, or null if it does. */
    @Nullable
    Distrust distrust(int node, long nowNanos) {
        ClockSamples one = samples[node];
        for (int other = 0; other < node; other++) {
            if (one.incarnation != null && one.incarnation.equals(samples[other].incarnation)) {
                return Distrust.sameServer(nodes[other]);
            }
        }
        Deviation jump = ownJump(one, nowNanos);
        if (jump != null) {
            return Distrust.jumped(jump.micros(), leftNanos(jump, nowNanos));
        }
        Deviation skew = recent(one.skew, nowNanos);
        return skew == null ? null : Distrust.skewed(skew.micros(), leftNanos(skew, nowNanos));
    }

    /** The minimum time until {@link #distrust} can end. */
    long excludedNanos(int node, long nowNanos) {
        return Math.max(leftNanos(samples[node].jump, nowNanos), leftNanos(samples[node].skew, nowNanos));
    }

    private long leftNanos(@Nullable Deviation one, long nowNanos) {
        return one == null ? 0 : Math.max(0, exclusionNanos - (nowNanos - one.atNanos()));
    }

    /** The deviation, if it still counts. */
    private @Nullable Deviation recent(@Nullable Deviation one, long nowNanos) {
        return leftNanos(one, nowNanos) > 0 ? one : null;
    }

    /** The recent jump of this clock, unless the client's clock was paused. */
    private @Nullable Deviation ownJump(ClockSamples one, long nowNanos) {
        Deviation jump = recent(one.jump, nowNanos);
        return jump == null || ownClockPaused(jump, nowNanos) ? null : jump;
    }

    private boolean ownClockPaused(Deviation jump, long nowNanos) {
        long tolerance = 2 * JUMP_TOLERANCE_MICROS + Math.abs(jump.micros()) / RATE_PARTS;
        int same = 0;
        for (ClockSamples one : samples) {
            Deviation other = recent(one.jump, nowNanos);
            same += other != null && Math.abs(other.micros() - jump.micros()) <= tolerance ? 1 : 0;
        }
        return same >= quorum;
    }
}
