package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockOptions;
import io.leasehold.Renewal;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Every formula with its numbers, as given in docs/contracts.md. */
@Tag("quick")
final class TimingsTest {

    private static final long MILLI = 1_000_000L;

    private final Timings defaults = Timings.of(LockOptions.defaults(), false);

    @Test
    void theDefaultsAreTheContract() {
        assertThat(defaults.ttlNanos()).isEqualTo(30_000 * MILLI);
        assertThat(defaults.toldNanos()).isEqualTo(30_000 * MILLI);
        assertThat(defaults.validityNanos()).isEqualTo(30_000 * MILLI - 302 * MILLI);
        assertThat(defaults.renewalNanos()).isEqualTo(10_000 * MILLI);
        assertThat(defaults.renewalRetryNanos()).isEqualTo(2_500 * MILLI);
        assertThat(defaults.minimumValidityNanos()).isEqualTo(3_000 * MILLI);
        assertThat(defaults.longestCheckableNanos()).isEqualTo((29_698 - 100) * MILLI);
        assertThat(defaults.riskNanos()).isEqualTo((29_698 - 15_000) * MILLI);
        assertThat(defaults.batchingNanos()).isEqualTo(50 * MILLI);
        assertThat(defaults.answerNanos()).isEqualTo(3_000 * MILLI);
        assertThat(defaults.undoNanos()).isEqualTo(30_302 * MILLI);
        assertThat(defaults.renewed()).isTrue();
    }

    @Test
    void aLongLeastValidityComesOnTopOfTwoRenewalsOfAClaim() {
        assertThat(defaults.leastClaimedNanos()).isEqualTo(3_250 * MILLI);
        Timings late = Timings.of(LockOptions.defaults().minimumValidity(Duration.ofSeconds(10)), false);
        assertThat(late.leastClaimedNanos()).isEqualTo(13_250 * MILLI);
    }

    @Test
    void aWaitersLeaseMayBeAsOldAsItsRenewalIsAwayAndLeavesRoomAboveTheLeastValidity() {
        assertThat(defaults.provenWithinNanos()).isEqualTo(10_000 * MILLI);
        Timings late = Timings.of(LockOptions.defaults().minimumValidity(Duration.ofSeconds(25)), false);
        assertThat(late.provenWithinNanos()).isEqualTo((29_698 - 25_000) / 2 * MILLI);
        assertThat(Timings.of(LockOptions.defaults().renewal(Renewal.none()), false)
                        .provenWithinNanos())
                .isZero();
    }

    @Test
    void aLockDelayIsToldToTheStoreAndNotReliedOn() {
        Timings delayed = Timings.of(LockOptions.defaults().lockDelay(Duration.ofSeconds(5)), false);
        assertThat(delayed.toldNanos()).isEqualTo(35_000 * MILLI);
        assertThat(delayed.validityNanos()).isEqualTo(defaults.validityNanos());
        assertThat(delayed.undoNanos()).isEqualTo(35_302 * MILLI);
    }

    @Test
    void aStoreHasAtLeastFiftyMillisecondsToAnswer() {
        assertThat(Timings.of(LockOptions.defaults().ttl(Duration.ofMillis(200)), false)
                        .answerNanos())
                .isEqualTo(50 * MILLI);
    }

    @Test
    void aFixedTtlIsNeverRenewed() {
        Timings fixed = Timings.of(LockOptions.defaults().renewal(Renewal.none()), false);
        assertThat(fixed.renewed()).isFalse();
        assertThat(fixed.longestCheckableNanos()).isEqualTo(fixed.validityNanos());
    }

    @Test
    void theTtlThatIsNamedForALongerCheckSuffices() {
        for (long seconds : new long[] {30, 40, 60, 3_600}) {
            Duration ttl = defaults.ttlForChecking(Duration.ofSeconds(seconds).toNanos());
            assertThat(LockOptions.defaults().ttl(ttl).longestCheckable())
                    .isGreaterThanOrEqualTo(Duration.ofSeconds(seconds));
        }
    }

    @Test
    void spansSaturate() {
        assertThat(Timings.saturatedNanos(Duration.ofSeconds(Long.MAX_VALUE))).isEqualTo(Long.MAX_VALUE);
        assertThat(Timings.saturatedNanos(Duration.ofSeconds(Long.MIN_VALUE))).isEqualTo(Long.MIN_VALUE);
        assertThat(Timings.saturatedNanos(Duration.ofMillis(-3))).isEqualTo(-3 * MILLI);
    }

    @Test
    void theEdgesOfWhatFitsIntoALong() {
        long most = Long.MAX_VALUE / 1_000_000_000L;
        assertThat(Timings.saturatedNanos(Duration.ofSeconds(most))).isEqualTo(most * 1_000_000_000L);
        assertThat(Timings.saturatedNanos(Duration.ofSeconds(most + 1))).isEqualTo(Long.MAX_VALUE);
        assertThat(Timings.saturatedNanos(Duration.ofSeconds(-most))).isEqualTo(-most * 1_000_000_000L);
        assertThat(Timings.saturatedNanos(Duration.ofSeconds(-most - 1))).isEqualTo(Long.MIN_VALUE);
    }

    @Test
    void aShortIntervalIsWaitedWithForASixteenthOnly() {
        Timings often = Timings.of(LockOptions.defaults().renewal(Renewal.every(Duration.ofMillis(320))), false);
        assertThat(often.batchingNanos()).isEqualTo(20 * MILLI);
    }

    @Test
    void aWaiterHasAThirdMoreThanTheLeastValidityToClaimWhatItWasHanded() {
        assertThat(defaults.claimNanos()).isEqualTo(4_000 * MILLI);
        assertThat(Timings.of(LockOptions.defaults().minimumValidity(Duration.ofSeconds(1)), false)
                        .claimNanos())
                .as("at least three seconds")
                .isEqualTo(3_000 * MILLI);
        assertThat(Timings.of(LockOptions.defaults().ttl(Duration.ofSeconds(2)), false)
                        .claimNanos())
                .as("never more than a ttl")
                .isEqualTo(2_000 * MILLI);
    }

    @Test
    void theTtlForALongerCheckIsRoundedUpAMillisecondBeyondDoubt() {
        assertThat(defaults.ttlForChecking(defaults.longestCheckableNanos()))
                .isBetween(Duration.ofMillis(30_001), Duration.ofMillis(30_002));
    }

    /** A round over nodes may take two of their timeouts, but never less time than without a given timeout. */
    @Test
    void anAnswerMayTakeTheTimeoutThatIsGivenOrTwoOfThemOverNodes() {
        LockOptions usual = LockOptions.defaults().ttl(Duration.ofSeconds(30));
        assertThat(Timings.of(usual, true).answerNanos())
                .isEqualTo(Duration.ofSeconds(3).toNanos());
        LockOptions long5 = usual.nodeTimeout(Duration.ofSeconds(5));
        assertThat(Timings.of(long5, false).answerNanos())
                .isEqualTo(Duration.ofSeconds(5).toNanos());
        assertThat(Timings.of(long5, true).answerNanos())
                .isEqualTo(Duration.ofSeconds(10).toNanos());
        assertThat(Timings.of(usual.nodeTimeout(Duration.ofSeconds(1)), true).answerNanos())
                .isEqualTo(Duration.ofSeconds(3).toNanos());
    }

    @Test
    void aLockIsDelayedIfItsStoreKeepsItForLongerThanItsHolder() {
        assertThat(Timings.of(LockOptions.defaults(), false).delayed()).isFalse();
        assertThat(Timings.of(LockOptions.defaults().lockDelay(Duration.ofMillis(1)), false)
                        .delayed())
                .isTrue();
    }
}
