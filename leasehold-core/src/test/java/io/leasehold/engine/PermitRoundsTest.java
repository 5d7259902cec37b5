package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Backoff;
import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.PermitCountException;
import io.leasehold.StoreUnavailableException;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The step after each answer in a round of several permits. */
@Tag("quick")
final class PermitRoundsTest {

    private static final long START = 1_000;
    private static final long MILLI = Duration.ofMillis(1).toNanos();
    private static final long SECOND = Duration.ofSeconds(1).toNanos();
    private static final Timings TIMINGS = Timings.of(LockOptions.defaults().ttl(Duration.ofSeconds(30)), false);
    private static final long VALID = TIMINGS.validityNanos();
    private static final Holder HOLDER = new Holder("other", Duration.ofSeconds(1), OptionalLong.of(7));
    private final StoreUnavailableException away = new StoreUnavailableException("away", null);

    private static PermitRounds rounds(int wanted, long maxWaitNanos) {
        return rounds(wanted, maxWaitNanos, Backoff.fixed(Duration.ofMillis(10)));
    }

    private static PermitRounds rounds(int wanted, long maxWaitNanos, Backoff retry) {
        return new PermitRounds(wanted, TIMINGS, new WaitPolicy(SECOND, retry), maxWaitNanos, START);
    }

    private static long pause(PermitRounds.Next next) {
        assertThat(next).isInstanceOf(PermitRounds.Pause.class);
        return ((PermitRounds.Pause) next).nanos();
    }

    @Test
    void onlyTheFirstPermitOfARoundIsWaitedFor() {
        PermitRounds rounds = rounds(3, 5 * SECOND);
        assertThat(rounds.begin(START + SECOND)).isEqualTo(new PermitRounds.Take(4 * SECOND));
        assertThat(rounds.taken(VALID, 0, START + SECOND)).isEqualTo(new PermitRounds.Take(0));
        assertThat(rounds.taken(VALID, 0, START + 9 * SECOND))
                .as("a round that has begun is completed")
                .isEqualTo(new PermitRounds.Take(0));
        assertThat(rounds.taken(VALID, 0, START + 9 * SECOND)).isEqualTo(new PermitRounds.Keep());
        assertThat(rounds(1, Long.MAX_VALUE).begin(START)).isEqualTo(new PermitRounds.Take(Long.MAX_VALUE));
    }

    @Test
    void aRoundWithoutAllPermitsPausesWithoutThem() {
        PermitRounds rounds = rounds(3, Long.MAX_VALUE);
        rounds.begin(START);
        rounds.taken(VALID, 0, START);
        assertThat(pause(rounds.busy(HOLDER, List.of(), 0, START + MILLI))).isEqualTo(10 * MILLI);
        assertThat(rounds.begin(START)).isEqualTo(new PermitRounds.Take(Long.MAX_VALUE));
        rounds.taken(VALID, 0, START);
        assertThat(rounds.taken(VALID, 0, START))
                .as("a new round has to take all of them again")
                .isEqualTo(new PermitRounds.Take(0));
    }

    /** Two clients with a fixed delay would otherwise meet in each round. */
    @Test
    void thePauseIsRandomAndAtLeastAsLongAsPermitsWereHeld() {
        for (long random : new long[] {0, WaitPolicy.ONE / 2}) {
            PermitRounds rounds = rounds(2, Long.MAX_VALUE);
            rounds.begin(START);
            rounds.taken(VALID, 0, START + SECOND);
            assertThat(pause(rounds.busy(null, List.of(), random, START + SECOND + MILLI)))
                    .isEqualTo(10 * MILLI + 10 * MILLI * random / WaitPolicy.ONE);
            rounds.begin(START);
            rounds.taken(VALID, 0, START + SECOND);
            assertThat(pause(rounds.busy(null, List.of(), random, START + SECOND + 40 * MILLI)))
                    .isEqualTo(40 * MILLI + 40 * MILLI * random / WaitPolicy.ONE);
        }
    }

    @Test
    void thePausesGrowWithTheRounds() {
        PermitRounds rounds =
                rounds(2, Long.MAX_VALUE, Backoff.exponential(Duration.ofMillis(10), Duration.ofMillis(40)));
        for (long expected : new long[] {5, 10, 20, 20}) {
            rounds.begin(START);
            rounds.taken(VALID, 0, START);
            assertThat(pause(rounds.busy(null, List.of(), 0, START))).isEqualTo(expected * MILLI);
        }
    }

    @Test
    void thePauseEndsWithThePatience() {
        PermitRounds rounds = rounds(2, SECOND);
        rounds.begin(START);
        rounds.taken(VALID, 0, START + SECOND - MILLI);
        assertThat(pause(rounds.busy(HOLDER, List.of(), 0, START + SECOND - MILLI)))
                .as("the last round begins when the patience ends")
                .isEqualTo(MILLI);
        assertThat(rounds.tooLate()).isEqualTo(new PermitRounds.Busy(HOLDER, List.of()));
        assertThat(rounds.begin(START + SECOND)).isEqualTo(new PermitRounds.Take(0));
        assertThat(rounds.busy(null, List.of(), 0, START + SECOND)).isEqualTo(new PermitRounds.Busy(null, List.of()));
    }

    @Test
    void zeroPatienceIsOneRound() {
        PermitRounds rounds = rounds(3, 0);
        assertThat(rounds.begin(START)).isEqualTo(new PermitRounds.Take(0));
        assertThat(rounds.taken(VALID, 0, START)).isEqualTo(new PermitRounds.Take(0));
        assertThat(rounds.busy(HOLDER, List.of(), 0, START)).isEqualTo(new PermitRounds.Busy(HOLDER, List.of()));
        PermitRounds failing = rounds(2, 0);
        failing.begin(START);
        failing.taken(VALID, 0, START);
        assertThat(failing.failed(away, 0, START)).isEqualTo(new PermitRounds.Failed(away));
    }

    /** The request for the first permit has been repeated for as long as the contract says. */
    @Test
    void aFailureOfTheFirstPermitEndsTheAttempt() {
        PermitRounds rounds = rounds(3, Long.MAX_VALUE);
        rounds.begin(START);
        assertThat(rounds.failed(away, 0, START)).isEqualTo(new PermitRounds.Failed(away));
    }

    @Test
    void aTransientFailureOfALaterPermitBeginsAnotherRound() {
        for (RuntimeException error :
                List.of(away, new AmbiguousAcquireException("the outcome is unknown", List.of(), away))) {
            PermitRounds rounds = rounds(3, Long.MAX_VALUE);
            rounds.begin(START);
            rounds.taken(VALID, 0, START);
            assertThat(pause(rounds.failed(error, 0, START))).isEqualTo(10 * MILLI);
            assertThat(rounds.tooLate()).isEqualTo(new PermitRounds.Failed(error));
        }
    }

    @Test
    void anyOtherFailureEndsTheAttempt() {
        for (RuntimeException error : List.of(
                new PermitCountException(LockName.exactly("pool"), "the store", 3, 2),
                new IllegalStateException("closed"))) {
            PermitRounds rounds = rounds(3, Long.MAX_VALUE);
            rounds.begin(START);
            rounds.taken(VALID, 0, START);
            assertThat(rounds.failed(error, 0, START)).isEqualTo(new PermitRounds.Failed(error));
        }
    }

    @Test
    void permitsThatEndedMeanwhileAreNotHandedOut() {
        PermitRounds rounds = rounds(2, SECOND);
        rounds.begin(START);
        rounds.taken(VALID, 0, START);
        long enough = TIMINGS.minimumValidityNanos();
        assertThat(rounds.taken(enough, 0, START)).isEqualTo(new PermitRounds.Keep());
        rounds.begin(START);
        rounds.taken(VALID, 0, START);
        assertThat(pause(rounds.taken(enough - 1, 0, START))).isEqualTo(10 * MILLI);
        rounds.begin(START);
        rounds.taken(VALID, 0, START);
        assertThat(rounds.taken(0, 0, START + SECOND)).isEqualTo(new PermitRounds.Busy(null, List.of()));
    }
}
