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
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

@Tag("quick")
class AcquireAllScriptTest {

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final ScriptBench a = new ScriptBench(SERVER, "a");
    private final ScriptBench b = new ScriptBench(SERVER, "b");
    private final ScriptBench c = new ScriptBench(SERVER, "c");

    private RedisCommands<String, String> redis() {
        return SERVER.redis();
    }

    private List<Object> acquireAll(String owner, long candidate) {
        String[] keys = Stream.of(a, b, c)
                .flatMap(lock -> Stream.of(lock.lock, lock.fence, lock.queued))
                .toArray(String[]::new);
        return redis().eval(
                        LuaScript.ACQUIRE_ALL.text(),
                        ScriptOutputType.MULTI,
                        keys,
                        owner + ":" + candidate + ":host/1/x",
                        "20000",
                        Long.toString(candidate),
                        Long.toString(candidate + 3),
                        Long.toString(60 * SECOND),
                        "7500000");
    }

    private void noneIsAlices() {
        for (ScriptBench lock : List.of(a, b, c)) {
            String value = redis().type(lock.lock).equals("string") ? redis().get(lock.lock) : null;
            assertThat(value == null || !value.startsWith(ALICE)).isTrue();
        }
    }

    @Test
    void takesAllThatAreFreeAndRaisesEachFence() {
        long token = a.now();

        List<Object> reply = acquireAll(ALICE, token);

        assertThat(reply.get(0)).isEqualTo("yes");
        assertThat(number(reply, 1)).isGreaterThanOrEqualTo(token);
        for (ScriptBench lock : List.of(a, b, c)) {
            assertThat(redis().get(lock.lock)).isEqualTo(ALICE + ":" + token + ":host/1/x");
            assertThat(redis().pttl(lock.lock)).isBetween(10_000L, 20_000L);
            assertThat(lock.storedFence()).isEqualTo(token + 3);
            assertThat(redis().pttl(lock.fence)).isBetween(50_000L, 61_001L);
            assertThat(redis().exists(lock.queued)).isZero();
        }
    }

    @Test
    void takesNoneIfOneIsHeldAndTellsWhich() {
        long token = a.now();
        b.acquire(BOB, token);

        List<Object> reply = acquireAll(ALICE, token + 10);

        assertThat(reply.get(0)).isEqualTo("held");
        assertThat(reply.subList(2, 4)).containsExactly("lock", token + ":host/1/x");
        assertThat(number(reply, 4)).isBetween(20_000L, 30_000L);
        assertThat(number(reply, 5)).isEqualTo(2);
        assertThat(reply.toString()).doesNotContain(BOB);
        noneIsAlices();
        assertThat(redis().exists(a.fence, c.fence)).isZero();
    }

    @Test
    void takesNoneIfSomebodyQueuesForOne() {
        long token = a.now();
        c.acquire(BOB, token);
        c.acquire("d".repeat(40), token + 1, plain().waiting(60_000, "lock:wake:another"));
        redis().del(c.lock);

        List<Object> reply = acquireAll(ALICE, token + 10);

        assertThat(reply.get(0)).isEqualTo("held");
        assertThat(reply.get(2)).isEqualTo("ahead");
        assertThat(number(reply, 5)).isEqualTo(3);
        noneIsAlices();
    }

    @Test
    void theHighestFloorAndTheLowestLimitDecide() {
        long now = a.now();
        redis().set(b.fence, Long.toString(now + 5 * SECOND));

        List<Object> stale = acquireAll(ALICE, now + SECOND);
        List<Object> above = acquireAll(ALICE, now + 5 * SECOND + 1);

        assertThat(stale.get(0)).isEqualTo("stale");
        assertThat(number(stale, 2)).isEqualTo(now + 5 * SECOND);
        assertThat(above.get(0)).isEqualTo("yes");
    }

    @Test
    void refusesWhatWouldRunAwayFromOneOfThem() {
        long absurd = a.now() + 100_000 * SECOND;
        redis().set(b.fence, Long.toString(absurd));

        List<Object> reply = acquireAll(ALICE, absurd + 1);

        // The token would be possible for "b", but an undo could not raise the fences of the others so far.
        assertThat(reply.get(0)).isEqualTo("refused");
        assertThat(redis().exists(a.lock, b.lock, c.lock, a.fence)).isZero();
    }

    @Test
    void aKeyOfAnotherTypeIsNotTouchedAndNothingIsTaken() {
        redis().lpush(b.lock, "something else");

        List<Object> foreign = acquireAll(ALICE, a.now());
        redis().del(b.lock);
        redis().lpush(c.fence, "something else");
        List<Object> broken = acquireAll(ALICE, a.now());
        redis().del(c.fence);
        redis().set(c.fence, "no number");
        List<Object> strange = acquireAll(ALICE, a.now());

        assertThat(foreign.subList(2, 4)).containsExactly("foreign", "list");
        assertThat(broken.get(0)).isEqualTo("broken");
        assertThat(broken.subList(2, 4)).containsExactly(c.fence, "list");
        assertThat(strange.subList(2, 4)).containsExactly(c.fence, "string");
        noneIsAlices();
        assertThat(redis().exists(a.fence, b.fence)).isZero();
    }

    @Test
    void recognisesItsOwnAndNeverShortensATtl() {
        long token = a.now();
        a.acquire(ALICE, token, plain().ttl(500_000));

        List<Object> reply = acquireAll(ALICE, token + 10);

        assertThat(reply.get(0)).isEqualTo("yes");
        assertThat(redis().get(a.lock)).startsWith(ALICE + ":" + (token + 10) + ":");
        assertThat(redis().pttl(a.lock)).isGreaterThan(400_000L);
        assertThat(redis().pttl(b.lock)).isLessThanOrEqualTo(20_000L);
    }

    @Test
    void aLateCopyAfterTheUndoTakesNothing() {
        long token = a.now();
        acquireAll(ALICE, token);
        for (ScriptBench lock : List.of(a, b, c)) {
            assertThat(lock.release(ALICE, token + 3)).containsExactly("released");
        }

        assertThat(acquireAll(ALICE, token).get(0)).isEqualTo("stale");
        noneIsAlices();
    }

    @Test
    void withoutMemoryNothingIsTaken() {
        redis().configSet("maxmemory", "1");
        try {
            assertThatThrownBy(() -> acquireAll(ALICE, a.now()))
                    .isInstanceOf(RedisCommandExecutionException.class)
                    .hasMessageContaining("OOM");
            assertThat(redis().exists(a.lock, b.lock, c.lock, a.fence, b.fence, c.fence))
                    .isZero();
        } finally {
            redis().configSet("maxmemory", "0");
        }
    }

    /** The fences are so far ahead that the clock does not count. */
    @Test
    void aRangeBeatsEachFenceAndMayEndJustAtTheBound() {
        long floor = a.now() + 1_000 * SECOND;
        for (ScriptBench lock : List.of(a, b, c)) {
            redis().set(lock.fence, Long.toString(floor));
        }
        assertThat(acquireAll(ALICE, floor)).startsWith("stale").endsWith(Long.toString(floor));
        long limit = floor + 7_500_000;
        assertThat(acquireAll(ALICE, limit - 2)).startsWith("refused").endsWith(Long.toString(limit));
        assertThat(acquireAll(ALICE, limit - 3)).startsWith("yes");
    }

    @Test
    void ofTwoThatStandInTheWayTheFirstIsTold() {
        redis().set(a.lock, "another program's");
        redis().set(c.queued, "1");
        assertThat(acquireAll(ALICE, a.now())).startsWith("held").endsWith("1");
    }

    @Test
    void aQueueOfAnotherVersionIsToldAndLeftAlone() {
        redis().set(c.queued, "1");
        assertThat(acquireAll(ALICE, a.now())).startsWith("version").endsWith(c.queued, "1", "2");
        redis().set(c.queued, "theirs");
        assertThat(acquireAll(ALICE, a.now())).startsWith("broken").endsWith(c.queued, "string");
        assertThat(redis().get(c.queued)).isEqualTo("theirs");
        noneIsAlices();
    }
}
