package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.spi.Incarnation;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the exact limits at which a clock loses and regains trust. Answers take no time here. */
@Tag("quick")
final class NodeClocksEdgesTest {

    private static final long SECOND = 1_000_000_000L;
    private static final long EXCLUSION = 30 * SECOND;
    private static final long BOUND_MICROS = 7_500_000;
    private static final long MAX_SKEW_MICROS = 3_750_000;
    /** 20 ms, and 1 % of the second between two answers. */
    private static final long TOLERANCE_MICROS = 30_000;
    /** Some time after the origin of the client's clock, so that times and durations differ. */
    private static final long START = 100 * SECOND;

    private NodeClocks clocks = fresh();

    private static NodeClocks fresh() {
        return new NodeClocks(List.of("a", "b", "c"), EXCLUSION, BOUND_MICROS);
    }

    private void answered(int node, long aheadMicros, long atNanos) {
        clocks.answered(node, new Incarnation("life-" + node), atNanos / 1_000 + aheadMicros, atNanos, atNanos);
    }

    private void allAnswered(long aheadMicros, long atNanos) {
        for (int node = 0; node < 3; node++) {
            answered(node, aheadMicros, atNanos);
        }
    }

    /** Why a node's votes do not count, or null. */
    private String why(int node, long nowNanos) {
        Distrust distrust = clocks.distrust(node, nowNanos);
        return distrust == null ? null : distrust.text();
    }

    @Test
    void aJumpIsWhatIsBeyondToleranceAndRate() {
        for (int sign : new int[] {1, -1}) {
            clocks = fresh();
            answered(0, 0, START);
            answered(0, sign * TOLERANCE_MICROS, START + SECOND);
            assertThat(why(0, START + SECOND)).isNull();

            clocks = fresh();
            answered(0, 0, START);
            answered(0, sign * (TOLERANCE_MICROS + 1), START + SECOND);
            assertThat(why(0, START + SECOND)).contains("jumped by");
        }
    }

    @Test
    void clocksAreComparedOverSilencesOfUpToTwiceTheExclusion() {
        answered(0, 0, START);
        answered(0, 5_000_000, START + 2 * EXCLUSION);
        assertThat(why(0, START + 2 * EXCLUSION)).contains("jumped by +5.0 s");

        clocks = fresh();
        answered(0, 0, START);
        answered(0, 5_000_000, START + 2 * EXCLUSION + 1);
        assertThat(why(0, START + 2 * EXCLUSION + 1)).isNull();
    }

    @Test
    void theExclusionLastsAsLongAsIsTold() {
        answered(0, 0, START);
        assertThat(clocks.excludedNanos(0, START)).isZero();
        long jump = START + SECOND;
        answered(0, 5_000_000, jump);
        assertThat(why(0, jump)).endsWith("excluded for 30 s more");
        assertThat(why(0, jump + 1)).endsWith("excluded for 30 s more");
        assertThat(why(0, jump + SECOND)).endsWith("excluded for 29 s more");
        assertThat(clocks.excludedNanos(0, jump + SECOND)).isEqualTo(29 * SECOND);
        assertThat(why(0, jump + EXCLUSION - 1)).endsWith("excluded for 1 s more");
        assertThat(clocks.excludedNanos(0, jump + EXCLUSION - 1)).isEqualTo(1);
        assertThat(why(0, jump + EXCLUSION)).isNull();
        assertThat(clocks.excludedNanos(0, jump + EXCLUSION)).isZero();
    }

    @Test
    void skewIsWhatIsBeyondHalfTheBound() {
        answered(0, 0, START);
        answered(1, MAX_SKEW_MICROS, START);
        assertThat(why(1, START)).isNull();
        assertThat(clocks.excludedNanos(1, START)).isZero();

        clocks = fresh();
        answered(0, 0, START);
        answered(1, MAX_SKEW_MICROS + 1, START);
        assertThat(why(1, START))
                .as("two of three nodes are enough to compare")
                .isEqualTo("its clock is +3.750001 s from the median of all nodes; excluded for 30 s more");
        assertThat(clocks.excludedNanos(1, START + 10 * SECOND)).isEqualTo(20 * SECOND);
        assertThat(why(0, START)).isNull();
    }

    @Test
    void aClockThatIsBehindIsSkewedToo() {
        answered(0, 0, START);
        answered(1, 0, START);
        answered(2, -MAX_SKEW_MICROS - 1, START);
        assertThat(why(2, START)).contains("its clock is -3.750001 s");
        assertThat(why(0, START)).isNull();
        assertThat(why(1, START)).isNull();
    }

    @Test
    void anAnswerAsOldAsTheExclusionIsComparedNoMore() {
        answered(0, 0, START);
        answered(1, 5_000_000, START + EXCLUSION);
        assertThat(why(1, START + EXCLUSION)).isNull();

        clocks = fresh();
        answered(0, 0, START);
        answered(1, 5_000_000, START + EXCLUSION - 1);
        assertThat(why(1, START + EXCLUSION - 1)).isNotNull();
    }

    @Test
    void jumpsAreAlikeUpToTwoTolerancesAndTheRate() {
        long jump = 60_000_000;
        long alike = 2 * 20_000 + jump / 100;
        allAnswered(0, START);
        answered(0, jump, START + SECOND);
        answered(1, jump + alike, START + SECOND);
        assertThat(why(0, START + SECOND)).isNull();

        clocks = fresh();
        allAnswered(0, START);
        answered(0, jump, START + SECOND);
        answered(1, jump + alike + 1, START + SECOND);
        assertThat(why(0, START + SECOND)).contains("jumped by +60.0 s");
    }

    @Test
    void whoAnsweredBeforeWeStoodStillIsNotComparedWithTheOthers() {
        allAnswered(0, START);
        answered(0, 60_000_000, START + SECOND);
        answered(1, 60_000_000, START + SECOND + 1);
        for (int node = 0; node < 3; node++) {
            assertThat(why(node, START + SECOND + 1)).as("node %s", node).isNull();
        }
    }

    /**
     * The result does not depend on the node that noticed first; 10 s are within 1 % of the jump and beyond half the
     * bound.
     */
    @Test
    void whoAnsweredSinceWeStoodStillIsCompared() {
        allAnswered(0, START);
        answered(0, 3_000_000_000L, START + SECOND);
        answered(1, 3_010_000_000L, START + 2 * SECOND);
        assertThat(why(0, START + 2 * SECOND)).isNull();
        assertThat(why(1, START + 2 * SECOND)).contains("its clock is +10.0 s");

        clocks = fresh();
        allAnswered(0, START);
        answered(1, 3_000_000_000L, START + SECOND);
        answered(0, 3_010_000_000L, START + 2 * SECOND);
        assertThat(why(1, START + 2 * SECOND)).isNull();
        assertThat(why(0, START + 2 * SECOND)).contains("its clock is +10.0 s");
    }

    @Test
    void ofJumpAndSkewTheLongerExclusionCounts() {
        allAnswered(0, START);
        answered(0, 3_000_000_000L, START + SECOND);
        answered(1, 3_010_000_000L, START + 2 * SECOND);
        answered(1, 3_010_000_000L, START + 5 * SECOND);
        assertThat(clocks.excludedNanos(1, START + 6 * SECOND)).isEqualTo(29 * SECOND);

        clocks = fresh();
        answered(0, 0, START);
        answered(1, 5_000_000, START);
        answered(1, 10_000_000, START + 10 * SECOND);
        assertThat(why(1, START + 15 * SECOND)).contains("jumped");
        assertThat(clocks.excludedNanos(1, START + 15 * SECOND)).isEqualTo(25 * SECOND);
    }

    @Test
    void aNodeThatIsNotBelievedHasNoShareInTheClock() {
        answered(0, 2_000_000, START);
        answered(1, 1_000_000, START);
        assertThat(aheadAt(START)).as("the lower median of a quorum").isEqualTo(1_000_000);
        answered(2, 0, START);
        answered(2, 9_000_000, START);
        assertThat(why(2, START)).isNotNull();
        assertThat(aheadAt(START)).isEqualTo(1_000_000);
    }

    @Test
    void theClockIsTheMedianInWhateverOrderNodesAnswer() {
        answered(0, 0, START);
        answered(1, 3_000_000, START);
        answered(2, 1_000_000, START);
        assertThat(aheadAt(START)).isEqualTo(1_000_000);
    }

    private long aheadAt(long nowNanos) {
        return clocks.estimateMicros(nowNanos).orElseThrow() - nowNanos / 1_000;
    }

    @Test
    void theUpperMedianIsNeverTheEarlierOfTwo() {
        assertThat(Quorum.upperMedian(List.of(3L, 1L, 4L, 2L))).isEqualTo(3);
        assertThat(Quorum.upperMedian(List.of(1L, 9L, 5L))).isEqualTo(5);
    }
}
