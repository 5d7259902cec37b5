package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Fairness;
import io.leasehold.LockOptions;
import io.leasehold.Renewal;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The tokens of the leases of one grant, and the time until which the grant may be passed on within the process. */
@Tag("quick")
class GrantTokensTest {

    private static final LockOptions OPTIONS = LockOptions.defaults();
    private static final long ENOUGH = OPTIONS.minimumValidity().toNanos();
    private static final long BOUND = Duration.ofMillis(20).toNanos();
    private static final long GRANTED = 1_000;

    private static GrantTokens tokens(int count, LockOptions options) {
        return new GrantTokens(TokenRange.of(7, count), 6 + count, options, Timings.of(options, false), GRANTED);
    }

    @Test
    void eachLeaseHasTheNextTokenOfTheRange() {
        GrantTokens tokens = tokens(3, OPTIONS);
        assertThat(tokens.draw()).isEqualTo(7);
        assertThat(tokens.draw()).isEqualTo(8);
        assertThat(tokens.draw()).isEqualTo(9);
    }

    @Test
    void aGrantIsNotPassedOnBeyondItsRange() {
        GrantTokens tokens = tokens(2, OPTIONS);
        tokens.draw();
        assertThat(tokens.mayPassOn(ENOUGH, GRANTED)).as("one token is left").isTrue();
        tokens.draw();
        assertThat(tokens.mayPassOn(ENOUGH, GRANTED)).as("none is").isFalse();
        assertThat(tokens.passableNanos(GRANTED)).isZero();
    }

    @Test
    void itCarriesSixtyFourLeasesHoweverManyTokensWereGranted() {
        GrantTokens tokens = tokens(1_000, OPTIONS);
        int leases = 0;
        for (boolean first = true; first || tokens.mayPassOn(ENOUGH, GRANTED); first = false) {
            tokens.draw();
            leases++;
        }
        assertThat(leases).isEqualTo(64);
    }

    @Test
    void itIsPassedOnForTwentyMilliseconds() {
        GrantTokens tokens = tokens(64, OPTIONS);
        tokens.draw();
        assertThat(tokens.passableNanos(GRANTED)).isEqualTo(BOUND);
        assertThat(tokens.mayPassOn(ENOUGH, GRANTED + BOUND - 1)).isTrue();
        assertThat(tokens.mayPassOn(ENOUGH, GRANTED + BOUND)).isFalse();
        assertThat(tokens.passableNanos(GRANTED + BOUND - 1)).isEqualTo(1);
        assertThat(tokens.passableNanos(GRANTED + BOUND + 1)).isNegative();
    }

    @Test
    void itIsNotPassedOnBelowTheMinimumValidity() {
        GrantTokens tokens = tokens(64, OPTIONS);
        tokens.draw();
        assertThat(tokens.mayPassOn(ENOUGH - 1, GRANTED)).isFalse();
        assertThat(tokens.mayPassOn(ENOUGH, GRANTED)).isTrue();
    }

    @Test
    void whatIsOverIsNotPassedOnAlsoIfAnyValidityWillDo() {
        LockOptions any = OPTIONS.minimumValidity(Duration.ZERO);
        GrantTokens tokens = tokens(64, any);
        tokens.draw();
        assertThat(tokens.mayPassOn(0, GRANTED)).isFalse();
        assertThat(tokens.mayPassOn(1, GRANTED)).isTrue();
    }

    @Test
    void aFixedTtlIsNotPassedOn() {
        GrantTokens tokens = tokens(64, OPTIONS.renewal(Renewal.none()));
        tokens.draw();
        assertThat(tokens.mayPassOn(Long.MAX_VALUE, GRANTED)).isFalse();
        assertThat(tokens.passableNanos(GRANTED)).isZero();
    }

    @Test
    void inStrictOrderNothingIsPassedOn() {
        GrantTokens tokens = tokens(64, OPTIONS.fairness(Fairness.STRICT_FIFO));
        tokens.draw();
        assertThat(tokens.mayPassOn(Long.MAX_VALUE, GRANTED)).isFalse();
        assertThat(tokens.passableNanos(GRANTED)).isZero();
    }
}
