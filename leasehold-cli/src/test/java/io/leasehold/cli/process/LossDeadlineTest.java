package io.leasehold.cli.process;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.cli.process.LossDeadline.Step;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests of the times at which a command receives TERM and KILL: always before the validity is over. */
@Tag("quick")
class LossDeadlineTest {

    private static final Duration TTL = Duration.ofSeconds(30);
    private static final Duration GRACE = Duration.ofSeconds(10);

    private static long millis(long millis) {
        return Duration.ofMillis(millis).toNanos();
    }

    @ParameterizedTest
    @CsvSource({"100, 50", "1000, 50", "1001, 50.05", "4000, 200", "10000, 500", "30000, 500", "86400000, 500"})
    void setsATwentiethOfTheTtlAsideForTheKillingWithinBounds(long ttlMillis, double leadMillis) {
        assertThat(LossDeadline.killLead(Duration.ofMillis(ttlMillis)).toNanos())
                .isEqualTo(Math.round(leadMillis * 1_000_000));
    }

    @Test
    void asksFirstAndKillsBeforeTheEnd() {
        LossDeadline deadline = new LossDeadline(OnLost.TERM, GRACE, TTL);

        assertThat(deadline.on(millis(29_000))).isEqualTo(new Step.Wait(millis(19_000)));
        assertThat(deadline.on(millis(10_000) + 1)).isEqualTo(new Step.Wait(1));
        assertThat(deadline.on(millis(10_000))).isEqualTo(new Step.Term());
        assertThat(deadline.on(millis(9_999))).isEqualTo(new Step.Wait(millis(9_499)));
        assertThat(deadline.on(millis(500) + 1)).isEqualTo(new Step.Wait(1));
        assertThat(deadline.on(millis(500))).isEqualTo(new Step.Kill());
    }

    @Test
    void asksOnlyOnceEvenIfARenewalComesAfterAll() {
        LossDeadline deadline = new LossDeadline(OnLost.TERM, GRACE, TTL);
        assertThat(deadline.on(millis(5_000))).isEqualTo(new Step.Term());

        assertThat(deadline.on(millis(29_000))).isEqualTo(new Step.Wait(millis(28_500)));
        assertThat(deadline.on(millis(8_000))).isEqualTo(new Step.Wait(millis(7_500)));
    }

    @ParameterizedTest
    @CsvSource({"0", "-1", "-9223372036854775808"})
    void killsAtOnceWhenNothingIsLeft(long remainingNanos) {
        assertThat(new LossDeadline(OnLost.TERM, GRACE, TTL).on(remainingNanos)).isEqualTo(new Step.Kill());
        assertThat(new LossDeadline(OnLost.KILL, GRACE, TTL).on(remainingNanos)).isEqualTo(new Step.Kill());
    }

    @Test
    void killsWhenTheGraceBeginsIfToldSo() {
        LossDeadline deadline = new LossDeadline(OnLost.KILL, GRACE, TTL);

        assertThat(deadline.on(millis(10_000) + 1)).isEqualTo(new Step.Wait(1));
        assertThat(deadline.on(millis(10_000))).isEqualTo(new Step.Kill());
    }

    /** The remaining time is that to the end that was known, and a renewal is on its way. */
    @ParameterizedTest
    @EnumSource(names = {"TERM", "KILL"})
    void onlyTheKillLeadEndsACommandWhileAnAnswerIsAwaited(OnLost onLost) {
        LossDeadline deadline = new LossDeadline(onLost, GRACE, TTL);

        assertThat(deadline.on(millis(9_000), millis(3_000))).isEqualTo(new Step.Wait(millis(50)));
        assertThat(deadline.on(millis(9_000), millis(20))).isEqualTo(new Step.Wait(millis(20)));
        assertThat(deadline.on(millis(530), millis(3_000))).isEqualTo(new Step.Wait(millis(30)));
        assertThat(deadline.on(millis(500), millis(3_000))).isEqualTo(new Step.Kill());
        assertThat(deadline.on(0, millis(3_000))).isEqualTo(new Step.Kill());
    }

    @Test
    void theGraceCountsOnceNoAnswerIsAwaited() {
        LossDeadline deadline = new LossDeadline(OnLost.TERM, GRACE, TTL);
        assertThat(deadline.on(millis(9_000), millis(1))).isEqualTo(new Step.Wait(millis(1)));
        assertThat(deadline.on(millis(8_999), Long.MAX_VALUE)).isEqualTo(new Step.Term());
        assertThat(deadline.on(millis(8_998), Long.MAX_VALUE)).isEqualTo(new Step.Wait(millis(8_498)));
    }

    @Test
    void anAnswerThatIsAwaitedChangesNothingForWhatIsLeftAlone() {
        LossDeadline deadline = new LossDeadline(OnLost.IGNORE, GRACE, TTL);

        assertThat(deadline.on(millis(9_000), millis(1))).isEqualTo(new Step.Wait(Long.MAX_VALUE));
    }

    @Test
    void neverEndsWhatIsToBeLeftAlone() {
        LossDeadline deadline = new LossDeadline(OnLost.IGNORE, GRACE, TTL);

        assertThat(deadline.on(millis(1))).isEqualTo(new Step.Wait(Long.MAX_VALUE));
        assertThat(deadline.on(-millis(1))).isEqualTo(new Step.Wait(Long.MAX_VALUE));
    }

    @Test
    void aGraceShorterThanTheLeadDoesNotDelayTheKill() {
        LossDeadline deadline = new LossDeadline(OnLost.TERM, Duration.ZERO, TTL);

        assertThat(deadline.on(millis(501))).isEqualTo(new Step.Wait(millis(1)));
        assertThat(deadline.on(millis(500))).isEqualTo(new Step.Kill());
    }
}
