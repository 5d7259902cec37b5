package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.SECOND;
import static io.leasehold.redis.wire.ScriptBench.plain;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.RedisUnderTest;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Tests of a subscriber of a pattern, which receives the messages to a waiter without being the waiter: PUBLISH still
 * counts it.
 */
@Tag("quick")
class PatternSubscribersTest {

    private static final String DEAD = "lock:wake:dead";
    private static final String ALIVE = "lock:wake:alive";
    private static final String CAROL = "c".repeat(40);

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final ScriptBench bench = new ScriptBench(SERVER, "order:1");
    private StatefulRedisPubSubConnection<String, String> everything;

    @BeforeEach
    void subscribe() {
        everything =
                SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()));
        everything.sync().psubscribe("*");
    }

    @AfterEach
    void unsubscribe() {
        everything.close();
    }

    private void queue(String owner, String channel, int claim) {
        assertThat(bench.acquire(
                        owner,
                        bench.now() + SECOND,
                        plain().waiting(60_000, channel).claiming(claim).holder("host/2/b")))
                .startsWith("queued");
    }

    @Test
    void aWaiterWhoseProcessWasKilledIsPassedOver() {
        for (int claim : List.of(4_000, 0)) {
            SERVER.redis().flushall();
            long token = bench.now();
            bench.acquire(ALICE, token);
            queue(BOB, DEAD, claim);

            assertThat(bench.release(ALICE, token)).containsExactly("released");

            assertThat(SERVER.redis().exists(bench.lock))
                    .as("held by no client")
                    .isZero();
            assertThat(SERVER.redis().exists(bench.queued))
                    .as("its place is free")
                    .isZero();
        }
    }

    @Test
    void theNextOneThatListensIsServed() {
        try (StatefulRedisPubSubConnection<String, String> listener =
                SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()))) {
            listener.sync().subscribe(ALIVE);
            long token = bench.now();
            bench.acquire(ALICE, token);
            queue(BOB, DEAD, 4_000);
            queue(CAROL, ALIVE, 4_000);

            bench.release(ALICE, token);

            assertThat(SERVER.redis().get(bench.lock)).startsWith(CAROL);
        }
    }

    /**
     * A message that was not published reached no subscriber; a lock that it hands over stays taken for the time of a
     * claim.
     */
    @Test
    void whatMayNotBePublishedIsHeardByNobody() {
        try (StatefulRedisPubSubConnection<String, String> listener =
                SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()))) {
            listener.sync().subscribe(ALIVE);
            long token = bench.now();
            bench.acquire(ALICE, token);
            queue(BOB, ALIVE, 4_000);
            SERVER.server().call("ACL", "SETUSER", "default", "-publish");

            List<Object> reply = bench.release(ALICE, token);

            assertThat(reply).hasSize(3).startsWith("released", "besides");
            assertThat((String) reply.get(2)).contains("publish");
            assertThat(SERVER.redis().exists(bench.lock))
                    .as("held by no client")
                    .isZero();
        } finally {
            SERVER.server().call("ACL", "SETUSER", "default", "+@all");
        }
    }

    @Test
    void aWatcherOfAMemberIsPassedOverToo() {
        String watchers = KeyLayout.watchers(bench.lock);
        SERVER.redis().zadd(watchers, 1, "q" + DEAD);
        SERVER.redis().zadd(watchers, -(bench.now() + 60.0 * SECOND), "a" + DEAD);

        List<Object> reply = SERVER.redis()
                .eval(
                        LuaScript.MEMBER_RELEASE.text(),
                        ScriptOutputType.MULTI,
                        new String[] {
                            bench.lock,
                            bench.fence,
                            watchers,
                            KeyLayout.readWatchers(bench.lock),
                            bench.readers,
                            KeyLayout.readersWait(bench.lock)
                        },
                        BOB,
                        "0",
                        Long.toString(60 * SECOND),
                        "7500000",
                        "lock:wake:own",
                        Long.toString(SECOND),
                        "leave");

        assertThat(reply).containsExactly("not-ours");
        assertThat(SERVER.redis().exists(watchers)).isZero();
    }
}
