package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.CAROL;
import static io.leasehold.redis.wire.ScriptBench.SECOND;
import static io.leasehold.redis.wire.ScriptBench.plain;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.StoredQueue;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests of each step of a hand-over at a server whose memory is full: it accepts no new waiter and refuses nothing
 * else.
 */
@Tag("quick")
class FullServerScriptTest extends HeldLockWithListener {

    private static final long WINDOW = 20 * SECOND;

    private List<Object> ask(String owner, String channel, long claim) {
        return bench.acquire(
                owner,
                Math.max(bench.now() + SECOND, bench.storedFence() + 1),
                plain().waiting(60_000, channel)
                        .claiming(claim)
                        .holder("host/2/b")
                        .window(WINDOW));
    }

    private <T> T full(Supplier<T> step) {
        redis().configSet("maxmemory", "1");
        try {
            return step.get();
        } finally {
            redis().configSet("maxmemory", "0");
        }
    }

    @Test
    void whoAsksAgainHasNoLongerPlaceAndKeepsTheOneItHas() {
        ask(BOB, HEARD, CLAIM);
        StoredQueue before = bench.queue();

        assertThat(full(() -> ask(BOB, HEARD, CLAIM))).startsWith("held").contains("besides");

        assertThat(bench.queue()).isEqualTo(before);
    }

    @Test
    void nobodyJoinsALongQueueEither() {
        for (int i = 0; i < 20; i++) {
            ask(String.format("%040x", i), HEARD, CLAIM);
        }
        StoredQueue before = bench.queue();

        assertThat(full(() -> ask(BOB, HEARD, CLAIM))).startsWith("held").contains("besides");

        assertThat(bench.queue()).isEqualTo(before);
    }

    @Test
    void aWaiterLeaves() {
        for (int others = 0; others < 2; others++) {
            ask(BOB, HEARD, CLAIM);
            if (others > 0) {
                ask(CAROL, HEARD, CLAIM);
            }
            assertThat(full(() -> bench.release(BOB, 0))).containsExactly("not-ours");
            assertThat(bench.queue().owners()).isEqualTo(others > 0 ? List.of(CAROL) : List.of());
            bench.release(CAROL, 0);
        }
    }

    @Test
    void aWaiterThatLeavesKeepsTheQueueForAsLong() {
        ask(BOB, HEARD, CLAIM);
        ask(CAROL, HEARD, CLAIM);
        full(() -> bench.release(BOB, 0));
        assertThat(redis().pttl(bench.queued)).isBetween(50_000L, 75_000L);
    }

    @Test
    void theLockIsHandedOverWithOthersBehind() {
        ask(BOB, HEARD, CLAIM);
        ask(CAROL, HEARD, CLAIM);

        assertThat(full(() -> bench.release(ALICE, token))).containsExactly("released");

        assertThat(redis().get(bench.lock)).startsWith(BOB + ":");
        assertThat(redis().pttl(bench.lock)).isBetween(1L, CLAIM + 1);
        assertThat(bench.storedFence()).isGreaterThan(token);
        assertThat(bench.queue().owners()).containsExactly(CAROL);
    }

    @Test
    void theDeafAreSkipped() {
        ask(BOB, DEAF, CLAIM);
        ask(CAROL, HEARD, CLAIM);

        assertThat(full(() -> bench.release(ALICE, token))).containsExactly("released");

        assertThat(redis().get(bench.lock)).startsWith(CAROL + ":");
        assertThat(redis().exists(bench.queued)).isZero();
    }

    @Test
    void theFirstIsWoken() {
        ask(BOB, HEARD, 0);
        ask(CAROL, HEARD, 0);
        long before = bench.now();

        assertThat(full(() -> bench.release(ALICE, token, WINDOW))).containsExactly("released");

        assertThat(redis().exists(bench.lock)).isZero();
        assertThat(bench.queue().waiters().get(0).alive()).as("its window").isLessThan(before + 30 * SECOND);
        assertThat(full(() -> ask(CAROL, HEARD, 0)).get(2)).isEqualTo("ahead");
        assertThat(full(() -> ask(BOB, HEARD, 0))).startsWith("yes");
    }

    @Test
    void aHandOverIsConfirmedAlsoWhereTheFenceHasGone() {
        ask(BOB, HEARD, CLAIM);
        full(() -> bench.release(ALICE, token));
        redis().del(bench.fence);
        long ballot = bench.now() + SECOND;

        assertThat(full(() -> bench.acquire(BOB, ballot))).startsWith("yes");

        assertThat(bench.storedFence()).isEqualTo(ballot);
        assertThat(redis().pttl(bench.lock)).isGreaterThan(CLAIM);
    }

    @Test
    void whatAnotherTypeHoldsIsLeftAlone() {
        ask(BOB, HEARD, CLAIM);
        redis().del(bench.fence);
        redis().hset(bench.fence, "a", "b");
        assertThat(full(() -> bench.acquire(ALICE, bench.now() + SECOND))).startsWith("broken");
        assertThat(full(() -> bench.release(BOB, bench.now() + SECOND))).containsExactly("not-ours");
        redis().del(bench.lock, bench.fence);
        redis().hset(bench.lock, "a", "b");
        ask(BOB, HEARD, CLAIM);
        assertThat(full(() -> ask(CAROL, HEARD, CLAIM)).subList(2, 4)).containsExactly("foreign", "hash");
        assertThat(redis().pttl(bench.lock)).as("no end").isEqualTo(-1);
    }

    @Test
    void theFirstWaiterTakesAFreeLock() {
        ask(BOB, HEARD, CLAIM);
        ask(CAROL, HEARD, CLAIM);
        redis().del(bench.lock);

        assertThat(full(() -> ask(BOB, HEARD, CLAIM))).startsWith("yes");

        assertThat(redis().get(bench.lock)).startsWith(BOB + ":");
        assertThat(bench.queue().owners()).containsExactly(CAROL);
    }

    @Test
    void anOperatorTakesALockAwayAndTheNextHasIt() {
        ask(BOB, HEARD, CLAIM);
        ask(CAROL, HEARD, CLAIM);

        assertThat(full(() -> bench.forceRelease(""))).containsExactly("removed");

        assertThat(redis().get(bench.lock)).startsWith(BOB + ":");
        assertThat(bench.queue().owners()).containsExactly(CAROL);
    }
}
