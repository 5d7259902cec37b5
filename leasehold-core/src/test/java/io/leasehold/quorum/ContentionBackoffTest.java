package io.leasehold.quorum;

import static io.leasehold.quorum.ScriptedSet.MILLI;
import static io.leasehold.quorum.ScriptedSet.NAME;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockName;
import io.leasehold.spi.OwnerToken;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the times when a client of a quorum retries by itself. */
@Tag("quick")
final class ContentionBackoffTest {

    private static final long FIRST_ROUND = 2 * MILLI;

    private final HandClock clock = new HandClock();
    private final List<Long> wokenAt = new ArrayList<>();
    private final ContentionBackoff backoff = new ContentionBackoff(clock, name -> {
        assertThat(name).isEqualTo(NAME);
        wokenAt.add(clock.nanoTime());
    });

    private OwnerToken attempt() {
        return OwnerToken.draw(clock);
    }

    /** The nanoseconds until the armed wake-up. */
    private long untilWoken() {
        int before = wokenAt.size();
        long now = clock.nanoTime();
        clock.pass(Duration.ofSeconds(2));
        assertThat(wokenAt).as("one wake-up").hasSize(before + 1);
        return wokenAt.get(before) - now;
    }

    private long afterASplit(OwnerToken attempt, long roundNanos) {
        backoff.later(attempt, NAME, roundNanos);
        return untilWoken();
    }

    @Test
    void thePausesAfterSplitVotesDoubleFromTenMillisecondsOrTheRound() {
        OwnerToken attempt = attempt();
        for (long millis : new long[] {10, 20, 40, 80, 160, 250, 250, 250, 250, 250}) {
            assertThat(afterASplit(attempt, MILLI)).isEqualTo(millis * MILLI);
        }
        assertThat(afterASplit(attempt(), 15 * MILLI)).as("of another attempt").isEqualTo(15 * MILLI);
        backoff.done(attempt);
        assertThat(afterASplit(attempt, 1)).as("once it has been answered").isEqualTo(10 * MILLI);
    }

    @Test
    void theLongestPauseIsFourTimesTheShortestAndAtMostASecond() {
        clock.lot = bound -> bound - 1;
        OwnerToken attempt = attempt();
        assertThat(afterASplit(attempt, MILLI)).isEqualTo(40 * MILLI - 1);
        for (int i = 0; i < 10; i++) {
            afterASplit(attempt, MILLI);
        }
        assertThat(afterASplit(attempt, MILLI)).isEqualTo(1_000 * MILLI - 1);
    }

    @Test
    void severalNodesWakeOnceALittleLater() {
        clock.lot = bound -> bound - 1;
        backoff.woken(NAME);
        backoff.woken(NAME);
        assertThat(untilWoken()).as("within a round").isEqualTo(FIRST_ROUND);
        backoff.woken(NAME);
        assertThat(untilWoken()).as("and the next time again").isEqualTo(FIRST_ROUND);
        for (int i = 0; i < 100; i++) {
            backoff.measured(50 * MILLI);
        }
        backoff.woken(NAME);
        assertThat(untilWoken()).as("of long rounds").isEqualTo(4 * MILLI);
        clock.lot = bound -> 0;
        backoff.woken(NAME);
        assertThat(untilWoken()).isEqualTo(1);
    }

    /**
     * The wake-up may come from the release before the lost round. It still counts, and its random delay is drawn
     * again.
     */
    @Test
    void aWakeUpThatIsArmedOutlivesASplitVote() {
        clock.lot = bound -> bound - 1;
        OwnerToken attempt = attempt();
        backoff.woken(NAME);
        assertThat(afterASplit(attempt, MILLI)).isEqualTo(FIRST_ROUND);
        backoff.woken(NAME);
        assertThat(afterASplit(attempt, MILLI)).as("of twice as many").isEqualTo(2 * FIRST_ROUND);
    }

    /**
     * A node wakes the first client. While that client waited for the end of its pause, no client would acquire the
     * lock.
     */
    @Test
    void aWakeUpShortensThePauseAfterASplitVote() {
        clock.lot = bound -> bound - 1;
        OwnerToken attempt = attempt();
        backoff.later(attempt, NAME, MILLI);
        backoff.woken(NAME);
        clock.pass(Duration.ofNanos(FIRST_ROUND / 2));
        backoff.woken(NAME);
        clock.pass(Duration.ofNanos(FIRST_ROUND / 2));
        assertThat(wokenAt)
                .as("within a round, whatever other nodes tell meanwhile")
                .hasSize(1);
        clock.pass(Duration.ofSeconds(2));
        assertThat(wokenAt).as("instead of the pause").hasSize(1);
        assertThat(afterASplit(attempt, MILLI))
                .as("which is longer the next time")
                .isEqualTo(80 * MILLI - 1);
    }

    /** The undo of a split round also wakes clients. Two clients that wake each other must diverge. */
    @Test
    void aWakeUpShortensThePauseLessAfterEachSplit() {
        clock.lot = bound -> bound - 1;
        OwnerToken attempt = attempt();
        for (long rounds : new long[] {1, 2, 4, 8, 16}) {
            backoff.later(attempt, NAME, MILLI);
            backoff.woken(NAME);
            assertThat(untilWoken()).isEqualTo(rounds * FIRST_ROUND);
        }
        backoff.later(attempt(), NAME, MILLI);
        clock.pass(Duration.ofNanos(40 * MILLI - 11));
        backoff.woken(NAME);
        assertThat(untilWoken()).as("never beyond the end of the pause").isEqualTo(10);
    }

    @Test
    void theRoundIsAnAverageOfEight() {
        backoff.measured(10 * MILLI);
        backoff.awaited(NAME);
        assertThat(backoff.courtesyNanos(NAME)).isEqualTo(2 * 3 * MILLI);
        for (int i = 0; i < 1_000; i++) {
            backoff.measured(-MILLI);
        }
        clock.lot = bound -> {
            assertThat(bound).as("a bound that can be drawn below").isPositive();
            return 0;
        };
        backoff.awaited(NAME);
        assertThat(backoff.courtesyNanos(NAME)).isBetween(2L, 16L);
    }

    @Test
    void whoGivesBackWhatIsAwaitedWaitsTwoToThreeRoundsOnce() {
        assertThat(backoff.courtesyNanos(NAME)).isZero();
        backoff.awaited(NAME);
        assertThat(backoff.courtesyNanos(NAME)).isEqualTo(2 * FIRST_ROUND);
        assertThat(backoff.courtesyNanos(NAME)).as("told once").isZero();
        clock.lot = bound -> bound - 1;
        backoff.awaited(NAME);
        clock.pass(Duration.ofMillis(1));
        assertThat(backoff.courtesyNanos(NAME)).isEqualTo(3 * FIRST_ROUND - 1 - MILLI);
        backoff.awaited(NAME);
        clock.pass(Duration.ofMillis(100));
        assertThat(backoff.courtesyNanos(NAME)).as("long ago").isZero();
        for (int i = 0; i < 100; i++) {
            backoff.measured(50 * MILLI);
        }
        backoff.awaited(NAME);
        assertThat(backoff.courtesyNanos(NAME)).as("at most").isEqualTo(20 * MILLI);
    }

    @Test
    void courtesiesAreBounded() {
        for (int i = 0; i < 10_000; i++) {
            backoff.awaited(LockName.exactly("n-" + i));
        }
        assertThat(backoff.courtesyNanos(LockName.exactly("n-0"))).isPositive();
        backoff.awaited(LockName.exactly("n-0"));
        backoff.awaited(NAME);
        assertThat(backoff.courtesyNanos(LockName.exactly("n-1"))).isZero();
        assertThat(backoff.courtesyNanos(NAME)).isPositive();
    }

    @Test
    void aTimerThatCannotBeHadDoesNotKeepTheNextWakeUpAway() {
        OwnerToken attempt = attempt();
        backoff.woken(NAME);
        clock.noTimers = true;
        assertThatThrownBy(() -> backoff.later(attempt, NAME, MILLI)).isInstanceOf(InternalError.class);
        clock.noTimers = false;
        assertThat(clock.armed()).as("the timer that it replaces is gone").isZero();
        backoff.woken(NAME);
        assertThat(untilWoken()).isEqualTo(1);
    }

    @Test
    void nothingIsArmedAfterTheClose() {
        OwnerToken attempt = attempt();
        backoff.later(attempt, NAME, MILLI);
        backoff.awaited(NAME);
        backoff.close();
        assertThat(clock.armed()).isZero();
        assertThat(backoff.remembered()).isZero();
        assertThat(backoff.courtesyNanos(NAME)).isZero();
        backoff.woken(NAME);
        backoff.later(attempt, NAME, MILLI);
        assertThat(clock.armed()).isZero();
        clock.pass(Duration.ofSeconds(5));
        assertThat(wokenAt).isEmpty();
    }
}
