package io.leasehold.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.RedisUnderTest;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of scripts for several callers: each lock gets the result of the script for one caller, or none. */
@Tag("quick")
class ManyScriptsTest {

    static final String ALICE = "a".repeat(40);
    private static final String BOB = "b".repeat(40);
    static final long SECOND = 1_000_000;

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    final ScriptBench one = new ScriptBench(SERVER, "one");
    private final ScriptBench two = new ScriptBench(SERVER, "two");
    private final ScriptBench three = new ScriptBench(SERVER, "three");

    static RedisCommands<String, String> redis() {
        return SERVER.redis();
    }

    @BeforeEach
    void empty() {
        redis().flushall();
    }

    /** The answers for these locks, each of which Alice requests. */
    List<Object> acquire(long candidate, ScriptBench... locks) {
        List<String> keys = new ArrayList<>();
        List<String> arguments = new ArrayList<>();
        for (ScriptBench lock : locks) {
            keys.addAll(List.of(lock.lock, lock.fence, lock.queued));
            arguments.addAll(List.of(ALICE + ":" + candidate + ":host/1/x", "30000", Long.toString(candidate)));
        }
        List<Object> reply = eval(LuaScript.ACQUIRE_MANY, keys, arguments);
        assertThat(Long.parseLong(reply.get(0).toString()) * SECOND)
                .isBetween(one.now() - 100 * SECOND, one.now() + 100 * SECOND);
        return reply.subList(2, reply.size());
    }

    List<Object> release(String owner, long ballot, ScriptBench... locks) {
        List<String> keys = new ArrayList<>();
        List<String> arguments = new ArrayList<>();
        for (ScriptBench lock : locks) {
            keys.addAll(List.of(lock.lock, lock.queued));
            arguments.add(owner + ":" + ballot + ":");
        }
        List<Object> reply = eval(LuaScript.RELEASE_MANY, keys, arguments);
        assertThat(reply.get(0)).isEqualTo("released");
        return reply.subList(1, reply.size());
    }

    static List<Object> eval(LuaScript script, List<String> keys, List<String> arguments) {
        return redis().eval(
                        script.text(),
                        ScriptOutputType.MULTI,
                        keys.toArray(String[]::new),
                        arguments.toArray(String[]::new));
    }

    @Test
    void freeLocksAreTakenAsByTheScriptForOne() {
        long candidate = one.now();
        assertThat(acquire(candidate, one, two)).containsExactly(1L, 1L);
        for (ScriptBench lock : List.of(one, two)) {
            assertThat(redis().get(lock.lock)).isEqualTo(ALICE + ":" + candidate + ":host/1/x");
            assertThat(redis().pttl(lock.lock)).isBetween(20_000L, 30_000L);
            assertThat(redis().get(lock.fence)).isEqualTo(Long.toString(candidate));
            assertThat(redis().pttl(lock.fence)).isBetween(50_000L, 67_500L);
        }
        assertThat(release(ALICE, candidate, one, two)).containsExactly(1L, 1L);
        assertThat(redis().exists(one.lock, two.lock)).isZero();
        assertThat(redis().exists(one.fence, two.fence)).isEqualTo(2);
    }

    @Test
    void aTokenAheadOfTheClockLengthensItsFence() {
        long candidate = one.now() + 5 * SECOND;
        assertThat(acquire(candidate, one)).containsExactly(1L);
        assertThat(redis().pttl(one.fence)).isBetween(60_001L, 65_000L);
    }

    @Test
    void whatOneLockIsRefusedTouchesNoOther() {
        long candidate = one.now();
        redis().set(one.lock, "some-uuid");
        redis().set(two.queued, "1");
        assertThat(acquire(candidate, one, two, three)).containsExactly(0L, 0L, 1L);
        assertThat(redis().get(one.lock)).isEqualTo("some-uuid");
        assertThat(redis().exists(one.fence, two.lock, two.fence)).isZero();
    }

    @Test
    void keysOfOtherTypesAreLeftAlone() {
        redis().lpush(one.lock, "x");
        redis().lpush(two.fence, "x");
        redis().set(three.fence, "no number");
        assertThat(acquire(one.now(), one, two, three)).containsExactly(0L, 0L, 0L);
        assertThat(redis().type(one.lock)).isEqualTo("list");
        assertThat(redis().type(two.fence)).isEqualTo("list");
        assertThat(redis().get(three.fence)).isEqualTo("no number");
        assertThat(redis().exists(two.lock, three.lock)).isZero();
    }

    @Test
    void aBallotThatIsNoGoodIsLeftToTheScriptForOne() {
        long now = one.now();
        redis().set(one.fence, Long.toString(now));
        assertThat(acquire(now, one)).as("stale").containsExactly(0L);
        assertThat(acquire(now + 1, one)).as("above the fence").containsExactly(1L);
        assertThat(acquire(now - 61 * SECOND, two)).as("below TIME - retention").containsExactly(0L);
        assertThat(acquire(now + 100 * SECOND, two)).as("beyond the bound").containsExactly(0L);
        assertThat(redis().exists(two.lock, two.fence)).isZero();
    }

    @Test
    void onlyTheHoldersOwnGrantIsDeleted() {
        long candidate = one.now();
        acquire(candidate, one, two, three);
        redis().set(three.queued, "1");
        assertThat(release(BOB, candidate, one)).as("another's").containsExactly(0L);
        assertThat(release(ALICE, candidate + 1, one)).as("a higher ballot").containsExactly(0L);
        assertThat(release(ALICE, candidate, two, three)).as("others wait").containsExactly(1L, 0L);
        assertThat(redis().exists(one.lock, three.lock)).isEqualTo(2);
        redis().lpush(two.lock, "x");
        assertThat(release(ALICE, candidate, two, one)).containsExactly(0L, 1L);
        assertThat(redis().type(two.lock)).isEqualTo("list");
    }

    @Test
    void aFullServerTakesNoneAndReleasesAll() {
        long candidate = one.now();
        acquire(candidate, one, two);
        redis().configSet("maxmemory", "1");
        try {
            assertThat(acquire(candidate + 1, three)).containsExactly(0L);
            assertThat(redis().exists(three.lock, three.fence)).isZero();
            assertThat(release(ALICE, candidate, one, two)).containsExactly(1L, 1L);
        } finally {
            redis().configSet("maxmemory", "0");
        }
    }
}
