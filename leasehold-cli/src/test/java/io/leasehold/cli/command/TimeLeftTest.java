package io.leasehold.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LossCause;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests with a clock and a lease that the test controls. */
@Tag("quick")
class TimeLeftTest {

    private long now = Long.MAX_VALUE - seconds(5);
    private long valid = seconds(27);
    private @Nullable LossCause cause;
    private final TimeLeft left = new TimeLeft(() -> valid, () -> cause, Duration.ofSeconds(10), () -> now);

    private static long seconds(long seconds) {
        return TimeUnit.SECONDS.toNanos(seconds);
    }

    @Test
    void isTheValidityOfTheLease() {
        assertThat(left.getAsLong()).isEqualTo(seconds(27));
        valid = seconds(3);
        assertThat(left.getAsLong()).isEqualTo(seconds(3));
        valid = 0;
        assertThat(left.getAsLong()).isZero();
    }

    @Test
    void isTheGraceAfterAForcedRelease() {
        left.getAsLong();
        now += seconds(2);
        valid = 0;
        cause = LossCause.FORCE_RELEASED;

        assertThat(left.getAsLong()).isEqualTo(seconds(10));
        now += seconds(9);
        assertThat(left.getAsLong()).isEqualTo(seconds(1));
        now += seconds(2);
        assertThat(left.getAsLong()).isEqualTo(-seconds(1));
    }

    @Test
    void isNeverMoreThanTheLeaseWouldHaveHad() {
        left.getAsLong();
        now += seconds(20);
        valid = 0;
        cause = LossCause.FORCE_RELEASED;

        assertThat(left.getAsLong()).isEqualTo(seconds(7));
    }

    @Test
    void isNothingAfterAForcedReleaseOfALeaseThatWasNeverSeenValid() {
        valid = 0;
        cause = LossCause.FORCE_RELEASED;

        assertThat(left.getAsLong()).isZero();
    }

    @ParameterizedTest
    @EnumSource(value = LossCause.class, mode = EnumSource.Mode.EXCLUDE, names = "FORCE_RELEASED")
    void isNothingAfterAnyOtherLoss(LossCause other) {
        left.getAsLong();
        valid = 0;
        cause = other;

        assertThat(left.getAsLong()).isZero();
    }
}
