package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.spi.Incarnation;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the clocks of nodes: the median, jumps, skew, a pause of the client's clock, one server under two names. */
@Tag("quick")
final class NodeClocksTest {

    private static final long MS = 1_000_000L;
    private static final long SECOND = 1_000 * MS;
    private static final long EXCLUSION = 30 * SECOND;
    private static final long EPOCH_MICROS = 1_700_000_000_000_000L;

    private final NodeClocks clocks = new NodeClocks(List.of("a", "b", "c"), EXCLUSION, 7_500_000);
    private final long[] aheadMicros = new long[3];

    private void sample(int node, long atNanos) {
        clocks.answered(
                node,
                new Incarnation("life-" + node),
                EPOCH_MICROS + atNanos / 1_000 + aheadMicros[node],
                atNanos - MS / 2,
                atNanos + MS / 2);
    }

    private void sampleAll(long atNanos) {
        for (int node = 0; node < 3; node++) {
            sample(node, atNanos);
        }
    }

    /** Why a node's votes do not count, or null. */
    private String why(int node, long nowNanos) {
        Distrust distrust = clocks.distrust(node, nowNanos);
        return distrust == null ? null : distrust.text();
    }

    @Test
    void theClockIsTheMedianOfAQuorumOrNothing() {
        aheadMicros[2] = 3_000_000;
        sample(0, SECOND);
        assertThat(clocks.estimateMicros(SECOND)).isEmpty();
        sample(1, SECOND);
        sample(2, SECOND);
        assertThat(clocks.estimateMicros(SECOND).orElseThrow() - EPOCH_MICROS - 1_000_000)
                .isBetween(-1_000L, 1_000L);
    }

    @Test
    void anOldEstimateIsTakenBackByTheDrift() {
        sampleAll(SECOND);
        long later = clocks.estimateMicros(101 * SECOND).orElseThrow() - EPOCH_MICROS - 101_000_000;
        assertThat(later).isBetween(-1_001_000L, -999_000L);
    }

    @Test
    void aJumpExcludesForMaxTtl() {
        sampleAll(SECOND);
        aheadMicros[1] = 500_000;
        sampleAll(2 * SECOND);
        assertThat(why(1, 2 * SECOND)).contains("jumped by +0.5 s");
        assertThat(why(0, 2 * SECOND)).isNull();
        sampleAll(20 * SECOND);
        assertThat(why(1, 20 * SECOND)).isNotNull();
        sampleAll(33 * SECOND);
        assertThat(why(1, 33 * SECOND)).isNull();
    }

    @Test
    void aJumpBackIsOneToo() {
        sampleAll(SECOND);
        aheadMicros[0] = -300_000;
        sampleAll(2 * SECOND);
        assertThat(why(0, 2 * SECOND)).contains("jumped by -0.3 s");
    }

    /** Small changes at each of many answers add up. */
    @Test
    void aRateBeyondTheDriftExcludesHoweverOftenItAnswers() {
        for (long everyMillis : new long[] {1, 10, 100, 1_000}) {
            assertThat(excludedWithin(10 * SECOND, everyMillis, 50_000))
                    .isNotNull()
                    .contains("jumped by +");
            assertThat(excludedWithin(10 * SECOND, everyMillis, -50_000))
                    .isNotNull()
                    .contains("jumped by -");
            assertThat(excludedWithin(60 * SECOND, everyMillis, 9_000)).isNull();
            assertThat(excludedWithin(60 * SECOND, everyMillis, -9_000)).isNull();
        }
    }

    private static String excludedWithin(long spanNanos, long everyMillis, long partsPerMillion) {
        NodeClocksTest world = new NodeClocksTest();
        for (long at = SECOND; at < SECOND + spanNanos; at += everyMillis * MS) {
            world.aheadMicros[1] = (at - SECOND) / 1_000 * partsPerMillion / 1_000_000;
            world.sampleAll(at);
            String why = world.why(1, at);
            if (why != null) {
                assertThat(world.why(0, at)).isNull();
                return why;
            }
        }
        return null;
    }

    @Test
    void whenAllJumpAlikeItWasWeWhoStoodStill() {
        sampleAll(SECOND);
        for (int node = 0; node < 3; node++) {
            aheadMicros[node] = 60_000_000;
        }
        sample(0, 2 * SECOND);
        assertThat(why(0, 2 * SECOND)).isNotNull();
        sample(1, 2 * SECOND);
        assertThat(why(0, 2 * SECOND)).isNull();
        assertThat(why(1, 2 * SECOND)).isNull();
    }

    @Test
    void skewBeyondHalfTheBoundExcludes() {
        aheadMicros[2] = 5_000_000;
        sampleAll(SECOND);
        assertThat(why(2, SECOND)).contains("+5.0 s").contains("median");
        assertThat(why(0, SECOND)).isNull();
    }

    @Test
    void oneServerHasOneVote() {
        sample(0, SECOND);
        clocks.answered(1, new Incarnation("life-0"), EPOCH_MICROS, 0, MS);
        assertThat(why(1, SECOND)).contains("same server as a");
        assertThat(why(0, SECOND)).isNull();
    }

    /** Delays and rates within the drift never look like a jump. */
    @Test
    void delaysAreNoJumps() {
        SplittableRandom random = new SplittableRandom(7);
        for (int walk = 0; walk < 500; walk++) {
            NodeClocks one = new NodeClocks(List.of("a", "b", "c"), EXCLUSION, 7_500_000);
            double[] rates = {
                1 + (random.nextDouble() - 0.5) / 1_000,
                1 + (random.nextDouble() - 0.5) / 1_000,
                1 + (random.nextDouble() - 0.5) / 1_000
            };
            long now = 0;
            for (int step = 0; step < 100; step++) {
                now += random.nextLong(SECOND);
                int node = random.nextInt(3);
                long there = random.nextLong(300 * MS);
                long back = random.nextLong(300 * MS);
                long server = EPOCH_MICROS + (long) ((now + there) * rates[node] / 1_000);
                one.answered(node, new Incarnation("l" + node), server, now, now + there + back);
                assertThat(one.distrust(node, now + there + back)).isNull();
            }
        }
    }
}
