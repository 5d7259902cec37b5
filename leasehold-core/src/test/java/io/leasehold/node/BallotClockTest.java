package io.leasehold.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.spi.Incarnation;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The estimate is never more than one shortest delay ahead, and follows jumps. */
@Tag("quick")
final class BallotClockTest {

    private static final Incarnation FIRST = new Incarnation("first");
    private static final long MILLI = 1_000_000L;
    private static final long SECOND = 1_000 * MILLI;

    private final BallotClock clock = new BallotClock();

    /** A reply of a node whose clock is {@code aheadMicros} before ours, read half way of {@code roundNanos}. */
    private void answered(Incarnation from, long aheadMicros, long sentAtNanos, long roundNanos) {
        long server = (sentAtNanos + roundNanos / 2) / 1_000 + aheadMicros;
        clock.answered(from, server, sentAtNanos, sentAtNanos + roundNanos);
    }

    private long aheadAt(long nowNanos) {
        return clock.estimateMicros(nowNanos).orElseThrow() - nowNanos / 1_000;
    }

    @Test
    void knowsNothingBeforeTheFirstAnswer() {
        assertThat(clock.estimateMicros(SECOND)).isEmpty();
    }

    @Test
    void isAheadByAtMostTheShortestWayThere() {
        answered(FIRST, 5_000_000, 0, 10 * MILLI);
        assertThat(aheadAt(SECOND)).isEqualTo(5_000_000 + 5_000);
        answered(FIRST, 5_000_000, SECOND, 2 * MILLI);
        assertThat(aheadAt(2 * SECOND)).isEqualTo(5_000_000 + 1_000);
        answered(FIRST, 5_000_000, 2 * SECOND, 40 * MILLI);
        assertThat(aheadAt(3 * SECOND)).isEqualTo(5_000_000 + 1_000);
    }

    @Test
    void followsAJumpBackAtOnce() {
        answered(FIRST, 5_000_000, 0, 2 * MILLI);
        answered(FIRST, 1_000_000, SECOND, 2 * MILLI);
        assertThat(aheadAt(2 * SECOND)).isEqualTo(1_000_000 + 1_000);
    }

    @Test
    void followsAJumpForwardThatNoDelayExplains() {
        answered(FIRST, 0, 0, 2 * MILLI);
        answered(FIRST, 40_000, SECOND, 2 * MILLI);
        assertThat(aheadAt(SECOND)).as("within the tolerance").isEqualTo(1_000);
        answered(FIRST, 60_000, 2 * SECOND, 2 * MILLI);
        assertThat(aheadAt(2 * SECOND)).isEqualTo(61_000);
    }

    @Test
    void anotherLifeOfTheNodeStartsAnew() {
        answered(FIRST, 0, 0, 2 * MILLI);
        answered(new Incarnation("second"), 30_000, SECOND, 2 * MILLI);
        assertThat(aheadAt(SECOND)).isEqualTo(31_000);
    }

    @Test
    void anOldMinimumIsForgottenAfterTwoWindows() {
        answered(FIRST, 0, 0, 2 * MILLI);
        for (int i = 1; i <= 70; i++) {
            // Our clock runs slow by 0.1 %: the node's drifts ahead.
            answered(FIRST, i * 1_000L, i * SECOND, 2 * MILLI);
        }
        assertThat(aheadAt(70 * SECOND)).isGreaterThanOrEqualTo(10_000);
    }

    /** Without any delay: the offset is known exactly. */
    private void exactly(long aheadMicros, long atNanos) {
        answered(FIRST, aheadMicros, atNanos, 0);
    }

    @Test
    void aForwardJumpIsWhatIsBeyondTheTolerance() {
        exactly(0, 100 * SECOND);
        exactly(50_000, 101 * SECOND);
        assertThat(aheadAt(101 * SECOND)).isZero();
        exactly(50_001, 102 * SECOND);
        assertThat(aheadAt(102 * SECOND)).isEqualTo(50_001);
    }

    @Test
    void aSilenceOfMoreThanTwoWindowsClearsWhatWasKnown() {
        exactly(0, 100 * SECOND);
        exactly(10_000, 160 * SECOND);
        assertThat(aheadAt(160 * SECOND)).isZero();
        exactly(20_000, 220 * SECOND + 1);
        assertThat(aheadAt(221 * SECOND)).isEqualTo(20_000);
    }

    @Test
    void aMinimumOutlastsEveryAnswerOfItsWindow() {
        exactly(0, 100 * SECOND);
        exactly(10_000, 101 * SECOND);
        exactly(20_000, 102 * SECOND);
        exactly(30_000, 103 * SECOND);
        assertThat(aheadAt(103 * SECOND)).isZero();
    }

    /** The first window ends after thirty seconds, not at them; so does the second. */
    @Test
    void aMinimumOutlastsTheWindowAfterItsOwn() {
        exactly(0, 100 * SECOND);
        exactly(10_000, 130 * SECOND);
        exactly(20_000, 130 * SECOND + 1);
        exactly(30_000, 160 * SECOND + 1);
        assertThat(aheadAt(161 * SECOND)).isZero();
        exactly(40_000, 160 * SECOND + 2);
        assertThat(aheadAt(161 * SECOND)).isEqualTo(20_000);
    }

    @Test
    void itKnowsWhoseLifeItFollows() {
        assertThat(clock.isOf(FIRST)).isFalse();
        exactly(0, SECOND);
        assertThat(clock.isOf(FIRST)).isTrue();
        assertThat(clock.isOf(new Incarnation("second"))).isFalse();
    }
}
