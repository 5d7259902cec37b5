package io.leasehold.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockListener.AttemptOutcome;
import io.leasehold.LockListener.RenewalOutcome;
import io.leasehold.LossCause;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests of the meters that each event changes, the second time as the first time. */
@Tag("quick")
class ResourceMetersTest {

    private final MeterRegistry registry = new SimpleMeterRegistry();
    private final ResourceMeters meters = new ResourceMeters(registry, Tags.of("resource", "r"));

    private double counted(String meter) {
        return registry.get("distributed.lock." + meter).counters().stream()
                .mapToDouble(one -> one.count())
                .sum();
    }

    private double counted(String meter, String tag, Enum<?> value) {
        return registry.get("distributed.lock." + meter)
                .tag(tag, value.name().toLowerCase(Locale.ROOT))
                .counter()
                .count();
    }

    private double gauge(String meter) {
        return registry.get("distributed.lock." + meter).gauge().value();
    }

    @ParameterizedTest
    @EnumSource(AttemptOutcome.class)
    void anAttemptIsCountedWithItsOwnOutcomeAndWaitsNoMore(AttemptOutcome outcome) {
        for (int time = 1; time <= 2; time++) {
            meters.attemptBegan();
            meters.attemptBegan();
            assertThat(gauge("waiting")).isEqualTo(2);
            meters.attemptEnded(outcome, Duration.ofSeconds(3));
            meters.attemptEnded(outcome, Duration.ofSeconds(3));
            assertThat(gauge("waiting")).isZero();
            boolean acquired = outcome == AttemptOutcome.ACQUIRED;
            assertThat(gauge("held")).isEqualTo(acquired ? 2 * time : 0);
            assertThat(counted("failures")).isEqualTo(acquired ? 0 : 2 * time);
            if (!acquired) {
                assertThat(counted("failures", "reason", outcome)).isEqualTo(2 * time);
            }
            assertThat(registry.get("distributed.lock.wait")
                            .tag("outcome", outcome.name().toLowerCase(Locale.ROOT))
                            .timer()
                            .totalTime(TimeUnit.SECONDS))
                    .isEqualTo(6.0 * time);
        }
    }

    @Test
    void theHeadroomIsAPartOfTheTtlOfEachRenewalThatLeftTheLease() {
        meters.renewed(RenewalOutcome.RENEWED, Duration.ofSeconds(10), Duration.ofSeconds(40));
        assertThat(registry.get("distributed.lock.headroom").summary().totalAmount())
                .isEqualTo(0.25);
        meters.renewed(RenewalOutcome.FAILED, Duration.ofSeconds(5), Duration.ofSeconds(40));
        assertThat(registry.get("distributed.lock.headroom").summary().totalAmount())
                .isEqualTo(0.375);
        meters.renewed(RenewalOutcome.NOT_OURS, Duration.ofSeconds(5), Duration.ofSeconds(40));
        assertThat(registry.get("distributed.lock.headroom").summary().count()).isEqualTo(2);
        for (RenewalOutcome outcome : RenewalOutcome.values()) {
            assertThat(counted("renewals", "outcome", outcome))
                    .as(outcome.name())
                    .isOne();
        }
    }

    @ParameterizedTest
    @EnumSource(LossCause.class)
    void eachHoldThatEndsIsHeldNoMoreAndTimedOnce(LossCause cause) {
        meters.attemptEnded(AttemptOutcome.ACQUIRED, Duration.ZERO);
        meters.attemptEnded(AttemptOutcome.ACQUIRED, Duration.ZERO);
        meters.attemptEnded(AttemptOutcome.ACQUIRED, Duration.ZERO);
        meters.lost(cause, Duration.ofSeconds(2));
        meters.lost(cause, Duration.ofSeconds(3));
        assertThat(gauge("held")).isOne();
        assertThat(counted("lost", "cause", cause)).isEqualTo(2);
        assertThat(counted("lost")).isEqualTo(2);
        meters.ended(Duration.ofSeconds(4));
        assertThat(gauge("held")).isZero();
        assertThat(registry.get("distributed.lock.hold").timer().totalTime(TimeUnit.SECONDS))
                .isEqualTo(9);
        assertThat(counted("lost")).isEqualTo(2);
    }

    @Test
    void abandonedHoldsAreCountedByTheirCause() {
        meters.abandoned(LossCause.LEAKED);
        meters.abandoned(LossCause.THREAD_DIED);
        meters.abandoned(LossCause.THREAD_DIED);
        assertThat(counted("abandoned", "cause", LossCause.LEAKED)).isOne();
        assertThat(counted("abandoned", "cause", LossCause.THREAD_DIED)).isEqualTo(2);
    }

    /** The last template with its own series, the first without, and one from before. */
    @Test
    void asManyTemplatesAreToldApartAsIsSaid() {
        ResourceTag tag = new ResourceTag(Set.of("named", "exact-name"), false, 2);
        assertThat(tag.of("a:{}", "a:1")).isEqualTo("a:{}");
        assertThat(tag.of("b:{}", "b:1")).isEqualTo("b:{}");
        assertThat(tag.of("c:{}", "c:1")).isEqualTo("_other");
        assertThat(tag.of("a:{}", "a:2")).isEqualTo("a:{}");
        assertThat(tag.of("b:{}", "b:2")).isEqualTo("b:{}");
        assertThat(tag.of("named", "named")).as("beyond the cap").isEqualTo("named");
        assertThat(tag.of(null, "exact-name")).isEqualTo("exact-name");
        assertThat(tag.of(null, "another")).isEqualTo("_exact");
        ResourceTag none = new ResourceTag(Set.of("named"), true, 2);
        assertThat(none.of("named", "named")).isEqualTo("named");
        assertThat(none.of("a:{}", "a:1")).isEqualTo("_other");
        assertThat(none.of(null, "a:1")).isEqualTo("_exact");
    }
}
