package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.SECOND;
import static io.leasehold.redis.wire.ScriptBench.plain;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.RedisUnderTest;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of renewal, inspection and forced release. */
@Tag("quick")
class OtherScriptsTest {

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final ScriptBench bench = new ScriptBench(SERVER, "order:1");
    private final ScriptBench second = new ScriptBench(SERVER, "order:2");
    private final ScriptBench third = new ScriptBench(SERVER, "order:3");

    private RedisCommands<String, String> redis() {
        return SERVER.redis();
    }

    @Test
    void renewsEachKeyByItself() {
        bench.acquire(ALICE, bench.now(), plain().ttl(5_000));
        second.acquire(BOB, bench.now(), plain().ttl(5_000));
        redis().hset(third.lock, Map.of("a", "b"));

        var reply = bench.renew(
                new String[] {third.lock, bench.lock, second.lock, "lock:{gone}"},
                "9000",
                ALICE + ":",
                ALICE + ":",
                ALICE + ":",
                ALICE + ":");

        assertThat(reply).containsExactly(1L, 1L, 0L, 3L, 0L, 4L, 0L);
        assertThat(redis().pttl(bench.lock)).isBetween(8_000L, 9_000L);
        assertThat(redis().pttl(second.lock)).isLessThanOrEqualTo(5_000L);
        assertThat(redis().exists("lock:{gone}")).isZero();
    }

    /** The callers of a client may have different ttls. */
    @Test
    void renewsEachKeyForItsOwnTtl() {
        bench.acquire(ALICE, bench.now(), plain().ttl(5_000));
        second.acquire(BOB, bench.now(), plain().ttl(5_000));

        assertThat(bench.renew(new String[] {bench.lock, second.lock}, "9000", "20000", ALICE + ":", BOB + ":"))
                .containsExactly(2L);
        assertThat(redis().pttl(bench.lock)).isBetween(8_000L, 9_000L);
        assertThat(redis().pttl(second.lock)).isBetween(19_000L, 20_000L);
    }

    @Test
    void renewalNeverShortens() {
        bench.acquire(ALICE, bench.now(), plain().ttl(60_000));

        assertThat(bench.renew(new String[] {bench.lock}, "1000", ALICE + ":")).containsExactly(1L);
        assertThat(redis().pttl(bench.lock)).isGreaterThan(50_000L);
    }

    @Test
    void renewalGivesAnEndToALockThatLostIts() {
        bench.acquire(ALICE, bench.now());
        redis().persist(bench.lock);

        bench.renew(new String[] {bench.lock}, "9000", ALICE + ":");

        assertThat(redis().pttl(bench.lock)).isBetween(8_000L, 9_000L);
    }

    @Test
    void inspectionTellsFreeHeldAndForeign() {
        long token = bench.now();
        second.acquire(ALICE, token);
        redis().set(third.lock, "x".repeat(40) + ":1:looks-like-ours", SetArgs.Builder.ex(100));

        assertThat(bench.inspect()).containsExactly("free");
        assertThat(second.inspect()).startsWith("held", "lock", token + ":host/1/x");
        assertThat(third.inspect()).startsWith("held", "foreign", "string");
    }

    @Test
    void forcedReleaseRaisesTheFence() {
        long token = bench.now();
        bench.acquire(ALICE, token);

        assertThat(bench.forceRelease("another client")).containsExactly("none");
        assertThat(bench.forceRelease("host/1/x")).containsExactly("removed");
        assertThat(bench.forceRelease("host/1/x")).containsExactly("none");
        assertThat(bench.storedFence()).isGreaterThan(token);
        assertThat(bench.release(ALICE, token).get(0)).isEqualTo("not-ours");
    }

    @Test
    void forcedReleaseTakesAStrangersStringButNoOtherKey() {
        redis().set(bench.lock, "theirs");
        redis().sadd(second.lock, "x");

        assertThat(bench.forceRelease("host/1/x")).containsExactly("none");
        assertThat(bench.forceRelease("foreign client")).containsExactly("removed");
        assertThat(second.forceRelease("")).containsExactly("foreign", "set");
        assertThat(redis().exists(second.lock)).isOne();
    }

    @Test
    void forcedReleaseWorksWhenMemoryIsFull() {
        bench.acquire(ALICE, bench.now());
        redis().configSet("maxmemory", "1");
        try {
            assertThat(bench.forceRelease("")).containsExactly("removed");
        } finally {
            redis().configSet("maxmemory", "0");
        }
        assertThat(bench.acquire(BOB, bench.now() + SECOND).get(0)).isEqualTo("yes");
    }
}
