package io.leasehold.redis.node;

import static io.leasehold.redis.topology.ScriptedRedis.array;
import static io.leasehold.redis.topology.ScriptedRedis.bulk;
import static io.leasehold.redis.topology.ScriptedRedis.bulks;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.topology.ScriptedRedis;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the requests and answers of a node when locks are acquired and renewed. */
@Tag("quick")
@Timeout(120)
final class GrantExchangesTest extends NodeExchanges {

    // ---- grants

    @Test
    void aGrantIsAskedForWithAllThatItNeeds() throws Exception {
        says(LuaScript.ACQUIRE, bulks("yes", "123"));
        assertThat(answer(node().acquire(ballot(NAME)))).isEqualTo(new NodeReply.Yes(life(), 123));
        List<String> sent = last(LuaScript.ACQUIRE);
        assertThat(sent.subList(0, 6))
                .containsExactly(
                        LOCK,
                        KeyLayout.fence(LOCK),
                        KeyLayout.queued(LOCK),
                        KeyLayout.behind(LOCK),
                        KeyLayout.wanted(LOCK),
                        KeyLayout.readers(LOCK));
        assertThat(sent.subList(6, sent.size()))
                .containsExactly(owner.hex() + ":5000:host/1/x", "30000", "5000", "5002");
        assertThat(node().description()).isEqualTo("the node");
        assertThat(node().part(NAME)).isEmpty();
    }

    /** The attempt may hold, wait, or never have arrived; the common case applies only to a holder. */
    @Test
    void anAttemptThatWasGivenUpIsUndoneByTheWholeScript() throws Exception {
        says(LuaScript.RELEASE, bulks("released"));
        RedisNode node = node();
        for (ReleaseRequest.Kind kind : List.of(ReleaseRequest.Kind.UNDO, ReleaseRequest.Kind.RELEASE)) {
            assertThat(answer(node.release(new ReleaseRequest(List.of(NAME), owner, 77, kind, LIMIT_NANOS))))
                    .isInstanceOf(ReleaseReply.Released.class);
            assertThat(ran(LuaScript.RELEASE_HELD)).as("%s", kind).hasSize(kind == ReleaseRequest.Kind.RELEASE ? 1 : 0);
        }
    }

    @Test
    void severalLocksAreAskedForInOneScript() throws Exception {
        says(LuaScript.ACQUIRE_ALL, bulks("yes", "123"));
        assertThat(answer(node().acquire(ballot(NAME, OTHER)))).isInstanceOf(NodeReply.Yes.class);
        String other = KeyLayout.standard().lock(OTHER);
        assertThat(last(LuaScript.ACQUIRE_ALL))
                .containsExactly(
                        LOCK,
                        KeyLayout.fence(LOCK),
                        KeyLayout.queued(LOCK),
                        other,
                        KeyLayout.fence(other),
                        KeyLayout.queued(other),
                        owner.hex() + ":5000:host/1/x",
                        "30000",
                        "5000",
                        "5002",
                        "60000000",
                        "7500000");
        says(LuaScript.ACQUIRE_ALL, "-OOM no\r\n");
        assertThat(answer(node().acquire(ballot(NAME, OTHER))))
                .isInstanceOfSatisfying(
                        NodeReply.Failed.class,
                        failed -> assertThat(failed.error()).hasMessageContaining("acquire 2 locks, among them \"x\""));
    }

    @Test
    void aNameThatHasNoKeyIsRefusedWithoutARequest() throws Exception {
        RedisNode narrow = node(settings(false).keys(KeyLayout.of("app:*:lock")));
        LockName refused = LockName.of("a}b");
        long before = server.asked("");
        NodeReply reply = answer(narrow.acquire(ballot(refused)));
        if (KeyLayout.of("app:*:lock").refusal(refused) != null) {
            assertThat(reply)
                    .isInstanceOfSatisfying(
                            NodeReply.Failed.class,
                            failed -> assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT));
            assertThat(answer(narrow.admin().describe(refused))).isEmpty();
            assertThat(answer(narrow.admin().waiters(refused, 5))).isEmpty();
            assertThat(answer(narrow.admin().forceRelease(refused, null))).isFalse();
            assertThat(server.asked("")).isEqualTo(before);
        }
    }

    /**
     * The client cannot be woken yet. So it sends a request, subscribes, and only then requests a place in the queue.
     */
    @Test
    void aPlaceInTheQueueIsAskedForOnceItListens() throws Exception {
        says(LuaScript.ACQUIRE, bulks("held", "123", "lock", "1:host/2/y", "900"));
        RedisNode node = node();
        Ballot waiting = new Ballot(request(NAME).waiting(TimeUnit.SECONDS.toNanos(10)), 5_000, 3, 1_500_000);
        answer(node.acquire(waiting));
        assertThat(ran(LuaScript.ACQUIRE)).hasSize(2);
        assertThat(ran(LuaScript.ACQUIRE).get(0)).hasSize(10);
        assertThat(last(LuaScript.ACQUIRE).get(10))
                .as("3 s, and 1.2 times 10 s")
                .isEqualTo("15000");
        assertThat(last(LuaScript.ACQUIRE).get(12)).as("the claim").isEqualTo("2");
        assertThat(server.listening(last(LuaScript.ACQUIRE).get(11))).isOne();
        answer(node.acquire(waiting));
        assertThat(ran(LuaScript.ACQUIRE)).as("it listens already").hasSize(3);
        assertThat(last(LuaScript.ACQUIRE).get(10)).isEqualTo("15000");
        says(LuaScript.ACQUIRE, bulks("stale", "123", "9"));
        assertThat(answer(node.acquire(waiting))).isEqualTo(new NodeReply.Stale(9, life(), 123));
    }

    @Test
    void whoWillNotWaitAsksOnce() throws Exception {
        says(LuaScript.ACQUIRE, bulks("held", "123", "lock", "1:host/2/y", "900"));
        assertThat(answer(node().acquire(ballot(NAME)))).isInstanceOf(NodeReply.Held.class);
        assertThat(ran(LuaScript.ACQUIRE)).hasSize(1);
        assertThat(server.asked("SUBSCRIBE")).isZero();
    }

    /** Half of its time is for the subscription. */
    @Test
    void aSubscriptionThatDoesNotComeCostsTheAnswerNothing() throws Exception {
        server.says("SUBSCRIBE", ScriptedRedis.SILENCE);
        says(LuaScript.ACQUIRE, bulks("held", "123", "lock", "1:host/2/y", "900"));
        runtime.changing(delay -> delay > TimeUnit.SECONDS.toNanos(250) && delay <= TimeUnit.SECONDS.toNanos(300)
                ? TimeUnit.MILLISECONDS.toNanos(20)
                : TimeUnit.MINUTES.toNanos(10));
        Ballot waiting = new Ballot(request(NAME).waiting(TimeUnit.SECONDS.toNanos(10)), 5_000, 3);
        assertThat(answer(node().acquire(waiting)))
                .isInstanceOfSatisfying(
                        NodeReply.Held.class, held -> assertThat(held.queued()).isFalse());
        assertThat(ran(LuaScript.ACQUIRE)).hasSize(1);
    }

    @Test
    void theClockOfTheServerIsThatOfItsAnswer() throws Exception {
        server.says("TIME", bulks("12", "345678"));
        assertThat(answer(node().probe(LIMIT_NANOS))).isEqualTo(new NodeReply.Stale(0, life(), 12_345_678));
        assertThat(answer(node().probe(NAME, LIMIT_NANOS))).isEqualTo(new NodeReply.Stale(0, life(), 12_345_678));
        server.says("TIME", bulks("x", "y"));
        assertThat(answer(node().probe(LIMIT_NANOS)))
                .isInstanceOfSatisfying(
                        NodeReply.Failed.class,
                        failed -> assertThat(failed.error()).hasMessageContaining("read the clock"));
    }

    // ---- renewals

    @Test
    void eachRenewalHasTheAnswerOfItsKey() throws Exception {
        says(
                LuaScript.RENEW,
                array(List.of(":1\r\n", ":2\r\n", ":0\r\n", ":3\r\n", bulk("OOM no (at the 'pexpire' command)"))));
        long before = runtime.nanoTime();
        List<RenewReply.Item> items = answer(node().renew(renewals(3))).items();
        assertThat(items.get(0))
                .isInstanceOfSatisfying(
                        RenewReply.Renewed.class,
                        renewed -> assertThat(renewed.sentAtNanos()).isBetween(before, runtime.nanoTime()));
        assertThat(items.get(1)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(items.get(2)).isInstanceOf(RenewReply.Failed.class);
        assertThat(last(LuaScript.RENEW))
                .containsExactly(
                        "lock:{n0}",
                        "lock:{n1}",
                        "lock:{n2}",
                        "9001",
                        owner.hex() + ":",
                        owner.hex() + ":",
                        owner.hex() + ":");
        assertThat(answer(node().renew(renewals(0))).items()).isEmpty();
        assertThat(ran(LuaScript.RENEW)).hasSize(1);
    }

    /** A script keeps the server from others: at 3 to 7 µs for each lock, for one and a half milliseconds at most. */
    @Test
    void aScriptRenewsTwoHundredLocksAtMost() throws Exception {
        scripts.put(LuaScript.RENEW.sha1(), command -> array(List.of(":" + command.get(2) + "\r\n")));
        assertThat(answer(node().renew(renewals(401))).items()).hasSize(401);
        // Each has a key and a beginning of its value for each lock, and one ttl.
        assertThat(ran(LuaScript.RENEW)).extracting(List::size).containsExactly(401, 401, 3);
    }

    /** Callers with different ttls share a script, too: otherwise a thousand of them would be a thousand requests. */
    @Test
    void renewalsForDifferentTimesShareAScript() throws Exception {
        says(LuaScript.RENEW, array(List.of(":2\r\n")));
        List<RenewBatch.Item> different = List.of(
                new RenewBatch.Item(LockName.of("n0"), owner, 9_000_000_001L),
                new RenewBatch.Item(LockName.of("n1"), owner, 20_000_000_000L));
        assertThat(answer(node().renew(new RenewBatch(different, 1_000_000_000L)))
                        .items())
                .hasSize(2)
                .hasOnlyElementsOfType(RenewReply.Renewed.class);
        assertThat(last(LuaScript.RENEW))
                .containsExactly("lock:{n0}", "lock:{n1}", "9001", "20000", owner.hex() + ":", owner.hex() + ":");
    }

    @Test
    void whatARenewalIsCalledInAnError() throws Exception {
        says(LuaScript.RENEW, "-NOPERM no\r\n");
        for (int count : new int[] {1, 2}) {
            String subject = count == 1 ? "renew lock \"n0\"" : "renew 2 locks, among them \"n0\"";
            for (List<RenewReply.Item> items : List.of(
                    answer(node().renew(renewals(count))).items(),
                    answer(plain().renew(renewals(count))).items())) {
                assertThat(items).hasSize(count);
                assertThat(items.get(count - 1))
                        .isInstanceOfSatisfying(
                                RenewReply.Failed.class,
                                failed -> assertThat(failed.error()).hasMessageContaining(subject));
            }
        }
    }
}
