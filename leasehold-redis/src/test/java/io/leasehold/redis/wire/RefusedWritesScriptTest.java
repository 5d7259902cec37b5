package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.SECOND;
import static io.leasehold.redis.wire.ScriptBench.plain;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.leasehold.redis.RedisUnderTest;
import io.leasehold.servers.RedisServer;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.toolkit.Failure;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests that while a server refuses writes, no script reports an effect that did not occur. */
@Tag("quick")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class RefusedWritesScriptTest {

    private static final String HEARD = "lock:wake:heard";

    @RegisterExtension
    final RedisUnderTest server = new RedisUnderTest(this::configured);

    private final ScriptBench bench = new ScriptBench(server, "order:1");

    /** Configures the tested server; the oldest one words its refusals differently. */
    RedisServer.Builder configured(RedisServer.Builder builder) {
        return builder;
    }

    private RedisCommands<String, String> redis() {
        return server.redis();
    }

    @AfterEach
    void allowWrites() {
        redis().configSet("min-replicas-to-write", "0");
        redis().configSet("maxmemory", "0");
    }

    private void refuseWrites() {
        redis().configSet("min-replicas-to-write", "1");
    }

    private List<Object> queue(String owner, String channel) {
        return bench.acquire(
                owner,
                bench.now() + SECOND,
                plain().waiting(60_000, channel).claiming(4_000).holder("host/2/b"));
    }

    @Test
    void aWithdrawalThatCouldNotBeWrittenSaysSo() {
        bench.acquire(ALICE, bench.now());
        assertThat(queue(BOB, HEARD).get(0)).isEqualTo("queued");
        long ballot = bench.now() + 3 * SECOND;
        refuseWrites();

        assertThatThrownBy(() -> bench.release(BOB, ballot))
                .isInstanceOf(RedisCommandExecutionException.class)
                .hasMessageContaining("NOREPLICAS");

        allowWrites();
        assertThat(bench.release(BOB, ballot)).containsExactly("not-ours");
        assertThat(redis().exists(bench.queued)).as("its place is given up").isZero();
        assertThat(bench.storedFence()).as("no late copy is granted").isEqualTo(ballot);
    }

    @Test
    void anUndoOfWhatHasNotArrivedSaysSoToo() {
        long ballot = bench.now() + SECOND;
        refuseWrites();

        assertThatThrownBy(() -> bench.release(BOB, ballot)).hasMessageContaining("NOREPLICAS");
    }

    /** An attempt that does not wait gets the refusal of writes, and not the answer that other clients precede it. */
    @Test
    void anAcquireOfAFreeLockThatOthersWaitForIsRefused() {
        bench.acquire(ALICE, bench.now());
        queue(BOB, HEARD);
        redis().del(bench.lock);
        refuseWrites();

        assertThatThrownBy(() -> bench.acquire("c".repeat(40), bench.now() + 2 * SECOND))
                .hasMessageContaining("NOREPLICAS");
    }

    @Test
    void whatAFullServerHandsOverIsConfirmed() {
        try (StatefulRedisPubSubConnection<String, String> listener =
                server.client().connectPubSub(RedisURI.create(server.server().uri()))) {
            listener.sync().subscribe(HEARD);
            long token = bench.now();
            bench.acquire(ALICE, token);
            queue(BOB, HEARD);
            redis().configSet("maxmemory", "1");

            assertThat(bench.release(ALICE, token)).containsExactly("released");

            assertThat(redis().get(bench.lock)).as("handed over").startsWith(BOB);
            long ballot = bench.now() + 2 * SECOND;
            assertThat(bench.acquire(BOB, ballot)).as("the confirmation").startsWith("yes");
            assertThat(redis().get(bench.lock)).startsWith(BOB + ":" + ballot);
            assertThat(redis().pttl(bench.lock)).isGreaterThan(4_000L);
            assertThat(bench.storedFence()).isEqualTo(ballot);
        }
    }

    private List<Object> endAtMember(String owner, long ballot, String place) {
        return redis().eval(
                        LuaScript.MEMBER_RELEASE.text(),
                        ScriptOutputType.MULTI,
                        new String[] {
                            bench.lock,
                            bench.fence,
                            KeyLayout.watchers(bench.lock),
                            KeyLayout.readWatchers(bench.lock),
                            bench.readers,
                            KeyLayout.readersWait(bench.lock)
                        },
                        owner,
                        Long.toString(ballot),
                        Long.toString(60 * SECOND),
                        Long.toString(7_500_000),
                        HEARD,
                        Long.toString(SECOND),
                        place);
    }

    @Test
    void aMemberWhoseMemoryIsFullRaisesTheFenceForAnUndo() {
        for (String place : List.of("stay", "leave")) {
            long ballot = bench.now() + SECOND;
            redis().configSet("maxmemory", "1");

            assertThat(endAtMember(BOB, ballot, place)).containsExactly("not-ours");

            redis().configSet("maxmemory", "0");
            assertThat(bench.storedFence()).as("a late copy is stale").isEqualTo(ballot);
        }
    }

    @Test
    void aMemberThatRefusesWritesSaysSo() {
        for (String place : List.of("stay", "leave")) {
            long ballot = bench.now() + SECOND;
            refuseWrites();

            assertThatThrownBy(() -> endAtMember(BOB, ballot, place)).hasMessageContaining("NOREPLICAS");

            allowWrites();
        }
    }

    /** Whether the script raises or returns the error: the refusal is temporary, and the request must be repeated. */
    @Test
    void aRefusalOfWritesIsNoneForGood() {
        RedisErrors errors = new RedisErrors("the server");
        long ballot = bench.now() + SECOND;
        for (Runnable refused : List.<Runnable>of(
                () -> bench.release(BOB, ballot),
                () -> endAtMember(BOB, ballot, "leave"),
                () -> bench.acquire(BOB, ballot))) {
            refuseWrites();
            ServerRefusal refusal =
                    new ServerRefusal(catchThrowable(refused::run).getMessage(), null);
            Failure failure = errors.of(refusal, "go on");
            assertThat(failure.kind()).as(failure.error().getMessage()).isEqualTo(FailureKind.NO_EFFECT);
            assertThat(failure.error()).hasMessageContaining("the server cannot go on now: NOREPLICAS");
            allowWrites();
        }
    }

    /** The key of another program is not a refusal: the hold is released, and that key is not changed. */
    @Test
    void aSideKeyOfAnotherTypeKeepsNobodyFromEnding() {
        redis().lpush(bench.queued, "a list");
        redis().set(KeyLayout.watchers(bench.lock), "a string");
        bench.acquire(ALICE, bench.now());

        assertThat(bench.release(BOB, bench.now())).containsExactly("not-ours");
        assertThat(endAtMember(BOB, bench.now(), "leave")).containsExactly("not-ours");
        assertThat(bench.release(ALICE, bench.now())).containsExactly("released");
        assertThat(redis().llen(bench.queued)).isOne();
    }
}
