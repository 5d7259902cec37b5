package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Backoff;
import io.leasehold.Holder;
import java.time.Duration;
import java.util.OptionalLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The delays of a waiter, at both ends of the range of random numbers. */
@Tag("quick")
final class WaitPolicyTest {

    private static final long MILLI = 1_000_000L;
    private static final long LEAST = 0;
    private static final long MOST = WaitPolicy.ONE - 1;

    private static WaitPolicy policy(Backoff retry) {
        return new WaitPolicy(3_000 * MILLI, retry);
    }

    private static Holder holder(Duration remaining) {
        return new Holder("h", remaining, OptionalLong.empty());
    }

    private final WaitPolicy policy = policy(Backoff.fixed(Duration.ofMillis(40)));

    @Test
    void aQueuedWaiterLooksAgainAfterTheRecheckOrWhenTheHoldersTtlEnds() {
        assertThat(policy.queuedNanos(null, LEAST)).isEqualTo(3_000 * MILLI);
        assertThat(policy.queuedNanos(holder(Duration.ofMinutes(5)), LEAST)).isEqualTo(3_000 * MILLI);
        assertThat(policy.queuedNanos(holder(Duration.ofMillis(400)), LEAST)).isEqualTo(401 * MILLI);
        assertThat(policy.queuedNanos(holder(Duration.ZERO), LEAST)).isEqualTo(MILLI);
        assertThat(policy.queuedNanos(holder(null), LEAST)).isEqualTo(3_000 * MILLI);
    }

    @Test
    void chanceAddsUpToAFifthAndNeverMoreThanAnnounced() {
        assertThat(policy.queuedNanos(null, MOST)).isBetween(3_599 * MILLI, 3_600 * MILLI);
        assertThat(policy.queuedNanos(null, MOST)).isLessThanOrEqualTo(policy.silenceNanos());
    }

    @Test
    void pollingBacksOffButNotPastTheEndOfTheHold() {
        assertThat(policy.polledNanos(holder(Duration.ofSeconds(9)), 3, LEAST)).isEqualTo(40 * MILLI);
        assertThat(policy.polledNanos(holder(Duration.ofMillis(9)), 3, LEAST)).isEqualTo(10 * MILLI);
    }

    @Test
    void eachKindOfBackOffKeepsToItsBounds() {
        WaitPolicy jittered = policy(Backoff.jittered(Duration.ofMillis(10), Duration.ofMillis(30)));
        assertThat(jittered.retryNanos(0, LEAST)).isEqualTo(10 * MILLI);
        assertThat(jittered.retryNanos(99, MOST)).isBetween(29 * MILLI, 30 * MILLI);
        WaitPolicy exponential = policy(Backoff.exponential(Duration.ofMillis(10), Duration.ofSeconds(1)));
        assertThat(exponential.retryNanos(0, LEAST)).isEqualTo(5 * MILLI);
        assertThat(exponential.retryNanos(3, MOST)).isBetween(79 * MILLI, 80 * MILLI);
        assertThat(exponential.retryNanos(1_000_000, MOST)).isBetween(999 * MILLI, 1_000 * MILLI);
        WaitPolicy huge = policy(Backoff.exponential(Duration.ofDays(1), Duration.ofDays(200_000)));
        assertThat(huge.retryNanos(Integer.MAX_VALUE, MOST)).isPositive();
    }

    @Test
    void aWaiterIsSilentForItsRecheckAndAFifthAtMost() {
        assertThat(policy.silenceNanos()).isEqualTo(3_600 * MILLI);
    }
}
