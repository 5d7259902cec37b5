package io.leasehold.spi;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.spi.toolkit.Repetition;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** One copy is in flight at a time, with pauses that double up to a maximum, until the time is over. */
@Tag("quick")
final class RepetitionTest {

    private static final long MILLI = 1_000_000L;
    private static final long SECOND = 1_000 * MILLI;

    private final Repetition repetition = new Repetition(50 * MILLI, SECOND);

    @Test
    void oneCopyIsUnderWayAtATime() {
        assertThat(repetition.start()).isTrue();
        assertThat(repetition.start()).isFalse();
        assertThat(repetition.failed(SECOND)).hasValue(50 * MILLI);
        assertThat(repetition.isEnded()).isFalse();
        assertThat(repetition.start()).as("the pause is over, or was cut short").isTrue();
        assertThat(repetition.start()).as("the other of the two").isFalse();
    }

    @Test
    void thePausesDoubleUpToTheLongestAndEndWithTheTime() {
        List<Long> pauses = new ArrayList<>();
        long leftNanos = 4_100 * MILLI;
        while (!repetition.isEnded()) {
            assertThat(repetition.start()).isTrue();
            OptionalLong pause = repetition.failed(leftNanos);
            pause.ifPresent(nanos -> pauses.add(nanos / MILLI));
            leftNanos -= pause.orElse(0);
        }
        assertThat(pauses).containsExactly(50L, 100L, 200L, 400L, 800L, 1_000L, 1_000L, 550L);
    }

    @Test
    void afterTheEndNothingIsSent() {
        repetition.start();
        repetition.end();
        assertThat(repetition.isEnded()).isTrue();
        assertThat(repetition.start()).isFalse();
        assertThat(repetition.failed(SECOND)).as("an answer that came late").isEmpty();
    }

    @Test
    void afterTheLastFailureNothingIsSent() {
        repetition.start();
        assertThat(repetition.failed(0)).isEmpty();
        assertThat(repetition.isEnded()).isTrue();
        assertThat(repetition.start()).isFalse();
        assertThat(repetition.failed(SECOND)).isEmpty();
    }

    @Test
    void aPauseIsNeverLongerThanTheLongestAndDoesNotOverflow() {
        assertThat(Repetition.pauseNanos(5, 100, 0)).isEqualTo(5);
        assertThat(Repetition.pauseNanos(5, 100, 1)).isEqualTo(10);
        assertThat(Repetition.pauseNanos(5, 100, 4)).isEqualTo(80);
        assertThat(Repetition.pauseNanos(5, 100, 5)).isEqualTo(100);
        assertThat(Repetition.pauseNanos(25, 100, 2)).isEqualTo(100);
        assertThat(Repetition.pauseNanos(5, 100, Integer.MAX_VALUE)).isEqualTo(100);
        assertThat(Repetition.pauseNanos(500, 100, 0)).isEqualTo(100);
        assertThat(Repetition.pauseNanos(Long.MAX_VALUE / 3, Long.MAX_VALUE, 9)).isEqualTo(Long.MAX_VALUE);
    }
}
