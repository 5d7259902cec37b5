package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.SECOND;
import static io.leasehold.redis.wire.ScriptBench.number;
import static io.leasehold.redis.wire.ScriptBench.plain;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.redis.RedisUnderTest;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

@Tag("quick")
class AcquireScriptTest {

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final ScriptBench bench = new ScriptBench(SERVER, "order:1");

    private RedisCommands<String, String> redis() {
        return SERVER.redis();
    }

    @Test
    void grantsAFreeLockAndStoresTheEndOfTheRange() {
        long token = bench.now();

        List<Object> reply = bench.acquire(ALICE, token, plain().reserve(8).ttl(20_000));

        assertThat(reply.get(0)).isEqualTo("yes");
        assertThat(number(reply, 1)).isGreaterThanOrEqualTo(token);
        assertThat(redis().get(bench.lock)).isEqualTo(ALICE + ":" + token + ":host/1/x");
        assertThat(redis().pttl(bench.lock)).isBetween(15_000L, 20_000L);
        assertThat(bench.storedFence()).isEqualTo(token + 7);
    }

    @Test
    void keepsTheFenceAtLeastForTheRetentionAndTheLockForItsTtl() {
        bench.acquire(ALICE, bench.now() + SECOND, plain());

        assertThat(redis().pttl(bench.fence)).isBetween(55_000L, 61_001L);
        assertThat(redis().exists(bench.queued)).isZero();
    }

    @Test
    void refusesACandidateThatDoesNotBeatTheStoredFence() {
        long token = bench.now() + SECOND;
        bench.acquire(ALICE, token);
        bench.release(ALICE, token);

        List<Object> equal = bench.acquire(BOB, token);
        List<Object> higher = bench.acquire(BOB, token + 1);

        assertThat(equal.get(0)).isEqualTo("stale");
        assertThat(number(equal, 2)).isEqualTo(token);
        assertThat(higher.get(0)).isEqualTo("yes");
    }

    @Test
    void refusesACandidateFromBeforeTheRetentionAlsoWithoutAFence() {
        long now = bench.now();

        List<Object> old = bench.acquire(ALICE, now - 61 * SECOND);

        assertThat(old.get(0)).isEqualTo("stale");
        assertThat(number(old, 2)).isEqualTo(number(old, 1) - 60 * SECOND);
        assertThat(redis().exists(bench.lock, bench.fence)).isZero();
    }

    @Test
    void refusesWhatRunsTooFarAheadOfItsClock() {
        long now = bench.now();

        List<Object> reply = bench.acquire(ALICE, now + 3_600 * SECOND);

        assertThat(reply.get(0)).isEqualTo("refused");
        assertThat(number(reply, 2)).isEqualTo(number(reply, 1) + 7_500_000);
        assertThat(redis().exists(bench.lock, bench.fence)).isZero();
    }

    /** For a free lock and for the caller's own lock. The fence is so far ahead that the clock has no effect. */
    @Test
    void aRangeMayEndJustAtTheBoundAndNotBeyondIt() {
        long bound = 7_500_000;
        long fence = bench.now() + 1_000 * SECOND;
        redis().set(bench.fence, Long.toString(fence));

        List<Object> beyond = bench.acquire(ALICE, fence + bound - 7, plain().reserve(9));
        assertThat(beyond.get(0)).isEqualTo("refused");
        assertThat(number(beyond, 2)).isEqualTo(fence + bound);
        assertThat(bench.acquire(ALICE, fence + bound - 7, plain().reserve(8)).get(0))
                .isEqualTo("yes");
        long next = fence + bound;
        assertThat(bench.acquire(ALICE, next + bound, plain().reserve(2)).get(0))
                .isEqualTo("refused");
        assertThat(bench.acquire(ALICE, next + bound).get(0)).isEqualTo("yes");
        assertThat(bench.storedFence()).isEqualTo(next + bound);
    }

    @Test
    void anAbsurdFenceIsOnlyAFloor() {
        long absurd = bench.now() + 100_000 * SECOND;
        redis().set(bench.fence, Long.toString(absurd));

        assertThat(bench.acquire(ALICE, bench.now()).get(0)).isEqualTo("stale");
        assertThat(bench.acquire(ALICE, absurd + 1).get(0)).isEqualTo("yes");
    }

    @Test
    void tellsWhoHoldsButNeverTheOwnerToken() {
        long token = bench.now();
        bench.acquire(ALICE, token, plain().holder("host/7/nightly: über"));

        List<Object> reply = bench.acquire(BOB, token + SECOND);

        assertThat(reply.get(0)).isEqualTo("held");
        assertThat(reply.subList(2, 4)).containsExactly("lock", token + ":host/7/nightly: über");
        assertThat(number(reply, 4)).isBetween(20_000L, 30_000L);
        assertThat(reply.toString()).doesNotContain(ALICE);
        assertThat(redis().get(bench.lock)).startsWith(ALICE);
    }

    @Test
    void recognisesItsOwnKeyAndNeverShortensIt() {
        long token = bench.now();
        bench.acquire(ALICE, token, plain().ttl(60_000));

        List<Object> again = bench.acquire(ALICE, token + 5, plain().ttl(1_000));

        assertThat(again.get(0)).isEqualTo("yes");
        assertThat(redis().pttl(bench.lock)).isGreaterThan(50_000L);
        assertThat(redis().get(bench.lock)).isEqualTo(ALICE + ":" + (token + 5) + ":host/1/x");
        assertThat(bench.storedFence()).isEqualTo(token + 5);
    }

    @Test
    void answersAStaleBallotAsStaleEvenToTheOwner() {
        long token = bench.now();
        bench.acquire(ALICE, token);

        assertThat(bench.acquire(ALICE, token).get(0)).isEqualTo("stale");
    }

    @Test
    void leavesAStrangersStringAloneAndDoesNotShowIt() {
        redis().set(bench.lock, "their-secret");

        List<Object> reply = bench.acquire(ALICE, bench.now());

        assertThat(reply.get(0)).isEqualTo("held");
        assertThat(reply.subList(2, 5)).containsExactly("foreign", "string", "-1");
        assertThat(redis().get(bench.lock)).isEqualTo("their-secret");
    }

    @Test
    void anEmptyStringIsHeldToo() {
        redis().set(bench.lock, "", SetArgs.Builder.px(10_000));

        assertThat(bench.acquire(ALICE, bench.now()).get(0)).isEqualTo("held");
    }

    @Test
    void leavesAKeyOfAnotherTypeAlone() {
        redis().hset(bench.lock, Map.of("field", "1"));

        List<Object> reply = bench.acquire(ALICE, bench.now());

        assertThat(reply.get(0)).isEqualTo("held");
        assertThat(reply.subList(2, 4)).containsExactly("foreign", "hash");
        assertThat(redis().hgetall(bench.lock)).containsEntry("field", "1");
    }

    @Test
    void saysWhichSideKeyIsBroken() {
        redis().lpush(bench.fence, "x");
        List<Object> list = bench.acquire(ALICE, bench.now());
        long lockAfterList = redis().exists(bench.lock);
        redis().set(bench.fence, "1e99");
        List<Object> text = bench.acquire(ALICE, bench.now());
        redis().set(bench.lock, "another program's");
        redis().del(bench.fence);
        redis().lpush(bench.queued, "x");
        List<Object> queue = bench.acquire(ALICE, bench.now(), plain().waiting(5_000, "lock:wake:x"));
        redis().del(bench.lock);

        assertThat(lockAfterList).as("what was not granted is not taken").isZero();
        assertThat(list).startsWith("broken").endsWith(bench.fence, "list");
        assertThat(text).startsWith("broken").endsWith(bench.fence, "string");
        assertThat(queue).startsWith("broken").endsWith(bench.queued, "list");
        assertThat(redis().exists(bench.lock)).isZero();
    }

    @Test
    void aFenceThatBreaksUnderAHolderCostsItNothing() {
        long token = bench.now();
        bench.acquire(ALICE, token);
        redis().del(bench.fence);
        redis().lpush(bench.fence, "x");

        assertThat(bench.acquire(ALICE, token + 1).get(0)).isEqualTo("broken");
        assertThat(redis().get(bench.lock)).startsWith(ALICE + ":" + token);
        assertThat(redis().type(bench.fence)).isEqualTo("list");
    }

    @Test
    void aPairOfAcquireAndReleaseCostsSixInnerCommands() {
        long token = bench.now();
        redis().configResetstat();

        bench.acquire(ALICE, token);
        bench.release(ALICE, token);

        List<String> calls = redis().info("commandstats")
                .lines()
                .filter(line -> line.startsWith("cmdstat_") && !line.startsWith("cmdstat_config"))
                .map(line -> line.substring("cmdstat_".length(), line.indexOf(",")))
                .sorted()
                .toList();
        assertThat(calls).containsExactly("del:calls=1", "eval:calls=2", "mget:calls=2", "set:calls=2", "time:calls=1");
    }

    @Test
    void isExactUpToTheLargestToken() {
        long largest = (1L << 53) - 1;
        redis().set(bench.fence, Long.toString(largest - 2));

        List<Object> stale = bench.acquire(ALICE, largest - 2);
        List<Object> yes = bench.acquire(ALICE, largest - 1, plain().reserve(2));

        assertThat(number(stale, 2)).isEqualTo(largest - 2);
        assertThat(yes.get(0)).isEqualTo("yes");
        assertThat(redis().get(bench.fence)).isEqualTo(Long.toString(largest));
        assertThat(redis().get(bench.lock)).contains(":" + (largest - 1) + ":");
    }

    @Test
    void writesNothingWhenMemoryIsFull() {
        redis().configSet("maxmemory", "1");
        try {
            assertThatThrownBy(() -> bench.acquire(ALICE, bench.now()))
                    .isInstanceOf(RedisCommandExecutionException.class)
                    .hasMessageContaining("OOM");
        } finally {
            redis().configSet("maxmemory", "0");
        }
        assertThat(redis().dbsize()).isZero();
    }
}
