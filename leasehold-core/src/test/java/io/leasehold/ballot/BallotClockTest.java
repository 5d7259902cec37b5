package io.leasehold.ballot;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.spi.Incarnation;
import org.junit.jupiter.api.Test;

/** The estimate is never more than one shortest delay ahead, and follows jumps. */
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
}
