package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.CAROL;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.StoredQueue;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that a waiter in front that retries overwrites its own line and no other line. */
@Tag("quick")
class QueueLinesTest extends QueueBehind {

    @ParameterizedTest
    @ValueSource(strings = {"a/longer/holder id/than/before", "s", "", "of/as/many/bytes"})
    void aWaiterThatAsksAgainWithOtherWordsLeavesItsNeighboursAsTheyAre(String holder) {
        join(BOB);
        assertThat(ask(CAROL, waits(PLACE).holder("as/many/bytes/of"))).startsWith("queued");
        join(DAVE);
        StoredQueue before = bench.queue();

        assertThat(ask(CAROL, waits(PLACE).holder(holder))).startsWith("queued");

        StoredQueue after = bench.queue();
        assertThat(after.owners()).containsExactly(BOB, CAROL, DAVE);
        assertThat(after.waiters().get(0)).isEqualTo(before.waiters().get(0));
        assertThat(after.waiters().get(1).holder()).isEqualTo(holder);
        assertThat(after.waiters().get(2)).isEqualTo(before.waiters().get(2));
        assertThat(bench.release(CAROL, 0)).containsExactly("not-ours");
        assertThat(bench.queue().owners()).containsExactly(BOB, DAVE);
    }
}
