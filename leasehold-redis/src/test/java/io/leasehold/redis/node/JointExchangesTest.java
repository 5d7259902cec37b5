package io.leasehold.redis.node;

import static io.leasehold.redis.topology.ScriptedRedis.bulks;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LuaScript;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of requests of a node that are ready together and are sent as one script. */
@Tag("quick")
@Timeout(120)
final class JointExchangesTest extends NodeExchanges {

    /**
     * The first request occupies the connection's thread, so that the others are ready when the next one is written.
     */
    private List<CompletableFuture<NodeReply>> together(RedisNode node, LockName... names) throws Exception {
        CountDownLatch listening = new CountDownLatch(1);
        CountDownLatch occupied = new CountDownLatch(1);
        CountDownLatch ready = new CountDownLatch(1);
        scripts.put(LuaScript.ACQUIRE.sha1(), command -> {
            awaiting(listening);
            return bulks("stale", "123", "9");
        });
        CompletableFuture<Void> first = node.acquire(new Ballot(request(LockName.of("first")), 5_000, 1))
                .thenAccept(reply -> {
                    occupied.countDown();
                    awaiting(ready);
                });
        listening.countDown();
        assertThat(occupied.await(LIMIT_NANOS, TimeUnit.NANOSECONDS)).isTrue();
        List<CompletableFuture<NodeReply>> all = new ArrayList<>();
        for (LockName name : names) {
            all.add(node.acquire(new Ballot(request(name), 5_000, 1)));
        }
        ready.countDown();
        answer(first);
        return all;
    }

    private static void awaiting(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void whatIsReadyLeavesAsOneScriptAndEachHearsItsOwnAnswer() throws Exception {
        scripts.put(LuaScript.ACQUIRE_MANY.sha1(), command -> "*5\r\n$2\r\n17\r\n$1\r\n5\r\n:1\r\n:0\r\n:1\r\n");
        List<CompletableFuture<NodeReply>> all = together(node(), NAME, OTHER, LockName.of("third"));
        NodeReply yes = new NodeReply.Yes(life(), 17_000_005);
        assertThat(answer(all.get(0))).isEqualTo(yes);
        assertThat(answer(all.get(1))).as("requested alone").isEqualTo(new NodeReply.Stale(9, life(), 123));
        assertThat(answer(all.get(2))).isEqualTo(yes);
        assertThat(ran(LuaScript.ACQUIRE_MANY)).hasSize(1);
        assertThat(last(LuaScript.ACQUIRE_MANY)).hasSize(18).startsWith(LOCK, KeyLayout.fence(LOCK));
        assertThat(last(LuaScript.ACQUIRE)).startsWith(KeyLayout.standard().lock(OTHER));
    }

    @Test
    void aLockOccursOnceInAScript() throws Exception {
        List<CompletableFuture<NodeReply>> all = together(node(), NAME, OTHER, NAME);
        for (CompletableFuture<NodeReply> each : all) {
            answer(each);
        }
        assertThat(last(LuaScript.ACQUIRE_MANY)).hasSize(12);
    }

    @Test
    void aScriptForSeveralIsBounded() throws Exception {
        LockName[] names =
                IntStream.range(0, 40).mapToObj(i -> LockName.of("n" + i)).toArray(LockName[]::new);
        for (CompletableFuture<NodeReply> each : together(node(), names)) {
            answer(each);
        }
        assertThat(ran(LuaScript.ACQUIRE_MANY)).extracting(List::size).containsExactly(6 * 32, 6 * 8);
    }

    @Test
    void whereTheScriptForSeveralIsRefusedEachIsAskedForAlone() throws Exception {
        says(LuaScript.ACQUIRE_MANY, "-NOPERM no\r\n");
        for (CompletableFuture<NodeReply> each : together(node(), NAME, OTHER)) {
            assertThat(answer(each)).isEqualTo(new NodeReply.Stale(9, life(), 123));
        }
        says(LuaScript.ACQUIRE_MANY, "*1\r\n:1\r\n");
        for (CompletableFuture<NodeReply> each : together(node(), NAME, OTHER)) {
            assertThat(answer(each)).as("an answer of no use").isEqualTo(new NodeReply.Stale(9, life(), 123));
        }
    }

    @Test
    void aServerThatDoesNotKnowTheScriptForSeveralGetsItsText() throws Exception {
        says(LuaScript.ACQUIRE_MANY, "-NOSCRIPT No matching script\r\n");
        server.says("EVAL", command -> {
            assertThat(command.get(1)).isEqualTo(LuaScript.ACQUIRE_MANY.text());
            return "*4\r\n$2\r\n17\r\n$1\r\n5\r\n:1\r\n:1\r\n";
        });
        for (CompletableFuture<NodeReply> each : together(node(), NAME, OTHER)) {
            assertThat(answer(each)).isEqualTo(new NodeReply.Yes(life(), 17_000_005));
        }
    }

    @Test
    void aRequestForSeveralTokensLeavesAlone() throws Exception {
        says(LuaScript.ACQUIRE, bulks("17", "5"));
        RedisNode node = node();
        List<CompletableFuture<NodeReply>> all = List.of(node.acquire(ballot(NAME)), node.acquire(ballot(OTHER)));
        for (CompletableFuture<NodeReply> each : all) {
            assertThat(answer(each)).isEqualTo(new NodeReply.Yes(life(), 17_000_005));
        }
        assertThat(ran(LuaScript.ACQUIRE_MANY)).isEmpty();
    }
}
