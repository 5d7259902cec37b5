package io.leasehold;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The defaults are a contract; unsafe timings are refused with their numbers. */
@Tag("quick")
final class LockOptionsTest {

    private static final LockOptions DEFAULTS = LockOptions.defaults();

    @Test
    void theDriftIsAHundredthOfTheTtlAndTwoMilliseconds() {
        for (long nanos :
                new long[] {1, 99, 100, 999_999_999, 1_000_000_000, 1_500_000_001, 59_999_999_999L, Long.MAX_VALUE}) {
            Duration ttl = Duration.ofNanos(nanos);
            assertThat(LockOptions.driftOf(ttl)).isEqualTo(ttl.dividedBy(100).plusMillis(2));
        }
    }

    @Test
    void theDefaultsAreThoseOfTheContract() {
        assertThat(DEFAULTS.ttl()).isEqualTo(Duration.ofSeconds(30));
        assertThat(DEFAULTS.renewalInterval()).isEqualTo(Duration.ofSeconds(10));
        assertThat(DEFAULTS.maxHold()).isEqualTo(Duration.ofHours(24));
        assertThat(DEFAULTS.minimumValidity()).isEqualTo(Duration.ofSeconds(3));
        assertThat(DEFAULTS.nodeTimeout()).isEqualTo(Duration.ofMillis(50));
        assertThat(DEFAULTS.recheck()).isEqualTo(Duration.ofSeconds(3));
        assertThat(DEFAULTS.retry()).isEqualTo(Backoff.exponential(Duration.ofMillis(10), Duration.ofSeconds(1)));
        assertThat(DEFAULTS.fairness()).isEqualTo(Fairness.BOUNDED_LOCAL_HAND_OVER);
        assertThat(DEFAULTS.lockDelay()).isZero();
        assertThat(DEFAULTS.reentryLimit()).isEqualTo(Integer.MAX_VALUE);
        assertThat(DEFAULTS.drift()).isEqualTo(Duration.ofMillis(302));
        assertThat(DEFAULTS.validity()).isEqualTo(Duration.ofMillis(29_698));
        assertThat(DEFAULTS.longestCheckable()).isEqualTo(Duration.ofMillis(29_598));
        assertThat(DEFAULTS.longestUnrenewed()).isEqualTo(Duration.ofMillis(19_598));
    }

    @Test
    void theNodeTimeoutFollowsTheTtlWithinItsBounds() {
        assertThat(DEFAULTS.ttl(Duration.ofMillis(200)).nodeTimeout()).isEqualTo(Duration.ofMillis(5));
        assertThat(DEFAULTS.ttl(Duration.ofSeconds(4)).nodeTimeout()).isEqualTo(Duration.ofMillis(20));
        assertThat(DEFAULTS.ttl(Duration.ofHours(1)).nodeTimeout()).isEqualTo(Duration.ofMillis(50));
    }

    @Test
    void aWitherChangesOneValueAndLeavesTheOthers() {
        LockOptions changed = DEFAULTS.fairness(Fairness.STRICT_FIFO).recheck(Duration.ofSeconds(1));
        assertThat(changed.fairness()).isEqualTo(Fairness.STRICT_FIFO);
        assertThat(changed.recheck()).isEqualTo(Duration.ofSeconds(1));
        assertThat(changed.fairness(DEFAULTS.fairness()).recheck(DEFAULTS.recheck()))
                .isEqualTo(DEFAULTS)
                .hasSameHashCodeAs(DEFAULTS);
        assertThat(changed).isNotEqualTo(DEFAULTS);
    }

    @Test
    void unsafeTimingsAreRefusedWithTheirNumbers() {
        refused(o -> o.ttl(Duration.ZERO), "ttl is 0s");
        refused(o -> o.ttl(Duration.ofSeconds(-1)), "ttl is -1s");
        refused(o -> o.ttl(Duration.ofHours(25)), "and 24h");
        refused(o -> o.renewal(Renewal.every(Duration.ofSeconds(16))), "two intervals must fit");
        refused(o -> o.renewal(Renewal.every(Duration.ofNanos(1))), "at least 10ms");
        refused(o -> o.maxHold(Duration.ofSeconds(29)), "below the ttl of 30s");
        refused(o -> o.minimumValidity(Duration.ofSeconds(30)), "29.698s");
        refused(o -> o.nodeTimeout(Duration.ofSeconds(16)), "half the ttl");
        refused(o -> o.recheck(Duration.ofMillis(9)), "recheck is 9ms");
        refused(o -> o.lockDelay(Duration.ofHours(24)), "lockDelay is 24h");
        refused(o -> o.reentryLimit(0), "reentryLimit is 0");
        refused(o -> o.renewal(Renewal.every(Duration.ofSeconds(Long.MAX_VALUE))), "renewal every");
    }

    private static void refused(UnaryOperator<LockOptions> change, String why) {
        assertThatThrownBy(() -> change.apply(DEFAULTS))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("lock options: ")
                .hasMessageContaining(why);
    }

    @Test
    void intervalsAndBackoffsRefuseWhatIsNotPositive() {
        assertThatThrownBy(() -> Renewal.every(Duration.ZERO)).hasMessageContaining("above zero");
        assertThatThrownBy(() -> Backoff.fixed(Duration.ZERO)).hasMessageContaining("above zero");
        assertThatThrownBy(() -> Backoff.jittered(Duration.ofMillis(2), Duration.ofMillis(1)))
                .hasMessageContaining("wrong order");
    }
}
