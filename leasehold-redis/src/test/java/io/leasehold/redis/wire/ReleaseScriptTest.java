package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.CAROL;
import static io.leasehold.redis.wire.ScriptBench.SECOND;
import static io.leasehold.redis.wire.ScriptBench.plain;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.RedisUnderTest;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

@Tag("quick")
class ReleaseScriptTest {

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final ScriptBench bench = new ScriptBench(SERVER, "order:1");

    private RedisCommands<String, String> redis() {
        return SERVER.redis();
    }

    @Test
    void deletesItsOwnLockOnly() {
        long token = bench.now();
        bench.acquire(ALICE, token);

        assertThat(bench.release(BOB, token).get(0)).isEqualTo("not-ours");
        assertThat(redis().get(bench.lock)).startsWith(ALICE);
        assertThat(bench.release(ALICE, token).get(0)).isEqualTo("released");
        assertThat(redis().exists(bench.lock)).isZero();
        assertThat(bench.release(ALICE, token).get(0)).isEqualTo("not-ours");
    }

    @Test
    void touchesNoStranger() {
        redis().set(bench.lock, ALICE);
        assertThat(bench.release(ALICE, 0).get(0)).isEqualTo("not-ours");
        assertThat(redis().get(bench.lock)).isEqualTo(ALICE);

        redis().del(bench.lock);
        redis().sadd(bench.lock, "x");
        assertThat(bench.release(ALICE, 0).get(0)).isEqualTo("not-ours");
        assertThat(redis().scard(bench.lock)).isOne();
    }

    @Test
    void anUndoBeforeItsAcquireBlocksTheLateCopy() {
        long token = bench.now() + SECOND;

        bench.release(ALICE, token);

        assertThat(bench.acquire(ALICE, token).get(0)).isEqualTo("stale");
        assertThat(bench.acquire(ALICE, token, plain().waiting(5_000, "lock:wake:x"))
                        .get(0))
                .isEqualTo("stale");
        assertThat(redis().exists(bench.lock, bench.queued)).isZero();
        assertThat(redis().pttl(bench.fence)).isBetween(55_000L, 61_001L);
    }

    @Test
    void anAbsurdBallotRaisesTheFenceToTheBoundOnly() {
        long now = bench.now();

        bench.release(ALICE, now + 1_000_000 * SECOND);

        assertThat(bench.storedFence()).isBetween(now + 7_500_000, bench.now() + 7_500_000);
    }

    @Test
    void leavesNoFenceWhereTheClockAlreadyRefuses() {
        bench.release(ALICE, bench.now() - 100 * SECOND);

        assertThat(redis().exists(bench.fence)).isZero();
    }

    @Test
    void theFenceNeverGoesDown() {
        Random random = new Random(42);
        String[] owners = {ALICE, BOB, CAROL};
        long highest = 0;
        for (int i = 0; i < 2_000; i++) {
            String owner = owners[random.nextInt(3)];
            long ballot = bench.now() + random.nextLong(-70 * SECOND, 20 * SECOND);
            if (random.nextBoolean()) {
                List<Object> reply = bench.acquire(owner, ballot, plain().reserve(1 + random.nextInt(64)));
                if (reply.get(0).equals("yes")) {
                    assertThat(ballot).isGreaterThan(highest);
                }
            } else {
                bench.release(owner, ballot);
            }
            long fence = bench.storedFence();
            assertThat(fence).isGreaterThanOrEqualTo(highest);
            highest = fence;
        }
    }

    @Test
    void lackOfMemoryRefusesNoRelease() {
        long token = bench.now();
        bench.acquire(ALICE, token);
        redis().configSet("maxmemory", "1");
        try {
            assertThat(bench.release(ALICE, token + 50).get(0)).isEqualTo("released");
            assertThat(bench.release(BOB, token + 90).get(0)).isEqualTo("not-ours");
        } finally {
            redis().configSet("maxmemory", "0");
        }
        assertThat(redis().exists(bench.lock)).isZero();
        assertThat(bench.storedFence()).isEqualTo(token + 90);
    }

    @Test
    void aBrokenFenceDoesNotKeepALockFromItsRelease() {
        long token = bench.now();
        bench.acquire(ALICE, token);
        redis().del(bench.fence);
        redis().lpush(bench.fence, "x");

        assertThat(bench.release(ALICE, token).get(0)).isEqualTo("released");
        assertThat(redis().type(bench.fence)).isEqualTo("list");
    }

    /** The fence is so far ahead that the clock has no effect. */
    @Test
    void aFenceIsRaisedToTheBallotButNotBeyondItsBound() {
        long bound = 7_500_000;
        long fence = bench.now() + 1_000 * SECOND;
        SERVER.redis().set(bench.fence, Long.toString(fence));
        bench.release(ALICE, fence + 9);
        assertThat(bench.storedFence()).isEqualTo(fence + 9);
        bench.release(ALICE, fence + 9 + bound + 1);
        assertThat(bench.storedFence()).isEqualTo(fence + 9 + bound);
        assertThat(SERVER.redis().pttl(bench.fence)).isGreaterThan(1_000_000);
        SERVER.redis()
                .eval(
                        LuaScript.RAISE_FENCE.text(),
                        io.lettuce.core.ScriptOutputType.MULTI,
                        new String[] {bench.fence},
                        Long.toString(fence + 9 + 2 * bound + 1),
                        Long.toString(60 * SECOND),
                        Long.toString(bound));
        assertThat(bench.storedFence()).isEqualTo(fence + 9 + 2 * bound);
    }
}
