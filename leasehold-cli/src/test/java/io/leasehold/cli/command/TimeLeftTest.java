package io.leasehold.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LossCause;
import io.leasehold.cli.process.UptimeClock;
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

    private static final long ANSWER = seconds(3);
    /** The up-time clock is coarse. */
    private static final long ROUNDING = TimeUnit.MILLISECONDS.toNanos(10);

    private long now = Long.MAX_VALUE - seconds(5);
    private long uptime = seconds(1_000);
    private long wall = seconds(1_700_000_000);
    private long valid = seconds(27);
    private @Nullable LossCause cause;
    private boolean over;
    private Runnable renewal = () -> {};
    private final TimeLeft left = new TimeLeft(
            () -> valid,
            new TestState(),
            Duration.ofSeconds(10),
            Duration.ofNanos(ANSWER),
            () -> new TimeLeft.Times(now, uptime, wall));

    private final class TestState implements TimeLeft.State {
        @Override
        public @Nullable LossCause cause() {
            return cause;
        }

        @Override
        public boolean isOver() {
            return over;
        }

        @Override
        public void awaitRenewal() {
            renewal.run();
        }
    }

    private void pass(long nanos) {
        now += nanos;
        uptime += nanos;
        wall += nanos;
    }

    private static long seconds(long seconds) {
        return TimeUnit.SECONDS.toNanos(seconds);
    }

    @Test
    void isTheValidityOfTheLease() {
        assertThat(left.nanos()).isEqualTo(seconds(27));
        valid = seconds(3);
        assertThat(left.nanos()).isEqualTo(seconds(3));
        assertThat(left.isHeld()).isTrue();
        valid = 0;
        over = true;
        assertThat(left.nanos()).isZero();
        assertThat(left.isHeld()).isFalse();
    }

    /** After a step of the wall clock no time has passed by the other clocks. */
    @Test
    void ofALeaseInDoubtRunsToTheEndThatWasKnown() {
        left.nanos();
        wall += seconds(3_600);
        valid = 0;
        assertThat(left.nanos()).isEqualTo(seconds(27) - ROUNDING);
        pass(seconds(2));
        assertThat(left.nanos()).isEqualTo(seconds(25) - ROUNDING);
        valid = seconds(26);
        assertThat(left.nanos()).as("a renewal has confirmed it").isEqualTo(seconds(26));
        assertThat(left.lookAgainNanos()).isEqualTo(Long.MAX_VALUE);
        valid = 0;
        assertThat(left.nanos()).isEqualTo(seconds(26) - ROUNDING);
    }

    /** A pause of a virtual machine may show in its wall clock alone. */
    @Test
    void theWallClockCountsIfTheStoreDoesNotAnswer() {
        left.nanos();
        wall += seconds(20);
        valid = 0;
        assertThat(left.nanos()).isEqualTo(seconds(27) - ROUNDING);
        assertThat(left.lookAgainNanos()).isEqualTo(ANSWER);
        pass(ANSWER - 1);
        assertThat(left.nanos()).isEqualTo(seconds(24) + 1 - ROUNDING);
        assertThat(left.lookAgainNanos()).isEqualTo(1);
        pass(1);
        assertThat(left.nanos()).isEqualTo(seconds(4));
        assertThat(left.lookAgainNanos()).isEqualTo(Long.MAX_VALUE);
        wall -= seconds(3_600);
        assertThat(left.nanos()).as("it was set back").isEqualTo(seconds(24) - ROUNDING);
        wall += seconds(7_200);
        assertThat(left.nanos()).isZero();
    }

    /** The monotonic clock stood still. */
    @Test
    void isNothingAfterASuspensionBeyondTheEnd() {
        left.nanos();
        valid = 0;
        uptime += seconds(27);
        wall += seconds(27);
        assertThat(left.nanos()).isZero();
        assertThat(left.isHeld()).isFalse();
        uptime += seconds(3_600);
        assertThat(left.nanos()).isZero();
    }

    @Test
    void isNothingInDoubtWithoutAKnownEnd() {
        valid = 0;
        assertThat(left.nanos()).as("it was never seen valid").isZero();
        assertThat(left.isHeld()).isFalse();
    }

    /** As on a system without /proc/uptime, or without a file descriptor to read it. */
    @Test
    void isNothingInDoubtWithoutAClockThatCountsASuspension() {
        left.nanos();
        valid = 0;
        long before = uptime;
        uptime = UptimeClock.UNKNOWN;
        assertThat(left.nanos()).isZero();
        valid = seconds(27);
        left.nanos();
        valid = 0;
        uptime = before;
        assertThat(left.nanos()).as("the end was seen without that clock").isZero();
    }

    @Test
    void aLeaseInDoubtIsHeldIfTheRenewalSaysSo() {
        left.nanos();
        valid = 0;
        assertThat(left.isHeld())
                .as("without an answer, the end that was known counts")
                .isTrue();
        renewal = () -> cause = LossCause.NOT_OURS;
        assertThat(left.isHeld()).isFalse();
    }

    /** The wait is over before the time limit. */
    @Test
    void theWallClockCountsAfterARenewalThatFailedAtOnce() {
        left.nanos();
        uptime += seconds(13);
        wall += seconds(13);
        valid = 0;
        assertThat(left.isHeld()).as("neither clock is past the end").isTrue();
        assertThat(left.lookAgainNanos()).isEqualTo(Long.MAX_VALUE);
        wall += seconds(15);
        assertThat(left.isHeld()).isFalse();
        renewal = () -> valid = seconds(27);
        assertThat(left.isHeld()).as("a later one has confirmed it").isTrue();
        renewal = () -> {};
        valid = 0;
        wall += seconds(3_600);
        assertThat(left.nanos()).as("a new doubt").isEqualTo(seconds(27) - ROUNDING);
        assertThat(left.lookAgainNanos()).isEqualTo(ANSWER);
        assertThat(left.isHeld()).isFalse();
    }

    @Test
    void aLeaseThatBeginsInDoubtIsHeldOnceARenewalHasConfirmedIt() {
        valid = 0;
        assertThat(left.isHeld()).isFalse();
        renewal = () -> valid = seconds(27);
        assertThat(left.isHeld()).isTrue();
    }

    @Test
    void isTheGraceAfterAForcedRelease() {
        left.nanos();
        pass(seconds(2));
        valid = 0;
        cause = LossCause.FORCE_RELEASED;

        assertThat(left.nanos()).isEqualTo(seconds(10) - ROUNDING);
        assertThat(left.isHeld()).isFalse();
        pass(seconds(9));
        assertThat(left.nanos()).isEqualTo(seconds(1) - ROUNDING);
        pass(seconds(2));
        assertThat(left.nanos()).isEqualTo(-seconds(1) - ROUNDING);
    }

    /** The monotonic clock stood still. */
    @Test
    void aSuspensionCountsBeforeAndAfterAForcedRelease() {
        left.nanos();
        uptime += seconds(20);
        valid = 0;
        cause = LossCause.FORCE_RELEASED;
        assertThat(left.nanos()).isEqualTo(seconds(7) - ROUNDING);
        uptime += seconds(4);
        assertThat(left.nanos()).isEqualTo(seconds(3) - ROUNDING);
        uptime += seconds(4);
        assertThat(left.nanos()).isNotPositive();
    }

    @Test
    void aSuspensionBeyondTheEndBeforeAForcedReleaseLeavesNoGrace() {
        left.nanos();
        uptime += seconds(28);
        valid = 0;
        cause = LossCause.FORCE_RELEASED;

        assertThat(left.nanos()).isNotPositive();
    }

    /** As without a file descriptor to read the up-time clock. */
    @Test
    void aForcedReleaseIsMeasuredByTheClocksThatAreKnown() {
        long before = uptime;
        uptime = UptimeClock.UNKNOWN;
        left.nanos();
        valid = 0;
        cause = LossCause.FORCE_RELEASED;
        assertThat(left.nanos()).isEqualTo(seconds(10));
        now += seconds(4);
        assertThat(left.nanos()).isEqualTo(seconds(6));
        uptime = before;
        assertThat(left.nanos()).as("no end is known by that clock").isEqualTo(seconds(6));
    }

    @Test
    void theEndByTheUptimeClockIsKeptWhileThatClockIsUnknown() {
        left.nanos();
        long before = uptime;
        valid = 0;
        cause = LossCause.FORCE_RELEASED;
        uptime = UptimeClock.UNKNOWN;
        assertThat(left.nanos()).isEqualTo(seconds(10));
        uptime = before + seconds(26);
        assertThat(left.nanos()).isEqualTo(seconds(1) - ROUNDING);
    }

    /** Otherwise nothing ends the command until the time for an answer is over. */
    @Test
    void noAnswerIsAwaitedAfterTheEnd() {
        left.nanos();
        wall += seconds(3_600);
        valid = 0;
        left.nanos();
        assertThat(left.lookAgainNanos()).isEqualTo(ANSWER);
        cause = LossCause.FORCE_RELEASED;
        assertThat(left.nanos()).isEqualTo(seconds(10) - ROUNDING);
        assertThat(left.lookAgainNanos()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void isNeverMoreThanTheLeaseWouldHaveHad() {
        left.nanos();
        pass(seconds(20));
        valid = 0;
        cause = LossCause.FORCE_RELEASED;

        assertThat(left.nanos()).isEqualTo(seconds(7) - ROUNDING);
    }

    @Test
    void isNothingAfterAForcedReleaseOfALeaseThatWasNeverSeenValid() {
        valid = 0;
        cause = LossCause.FORCE_RELEASED;

        assertThat(left.nanos()).isNotPositive();
    }

    @ParameterizedTest
    @EnumSource(value = LossCause.class, mode = EnumSource.Mode.EXCLUDE, names = "FORCE_RELEASED")
    void isNothingAfterAnyOtherLoss(LossCause other) {
        left.nanos();
        valid = 0;
        cause = other;

        assertThat(left.nanos()).isZero();
    }
}
