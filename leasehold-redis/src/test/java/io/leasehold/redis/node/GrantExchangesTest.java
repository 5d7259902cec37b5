package io.leasehold.redis.node;

import static io.leasehold.redis.topology.ScriptedRedis.array;
import static io.leasehold.redis.topology.ScriptedRedis.bulk;
import static io.leasehold.redis.topology.ScriptedRedis.bulks;
import static io.leasehold.redis.topology.ScriptedRedis.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.StoreAccessException;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.topology.ScriptedRedis;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewReply;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the requests of a node, and of what it makes of the answers, when locks are acquired, renewed and released. */
@Tag("quick")
@Timeout(120)
final class GrantExchangesTest extends NodeExchanges {

    // ---- grants

    @Test
    void aGrantIsAskedForWithAllThatItNeeds() throws Exception {
        says(LuaScript.ACQUIRE, bulks("yes", "123"));
        assertThat(answer(node().acquire(ballot(NAME)))).isEqualTo(new NodeReply.Yes(life(), 123));
        List<String> sent = last(LuaScript.ACQUIRE);
        assertThat(sent.subList(0, 5))
                .containsExactly(
                        LOCK,
                        KeyLayout.fence(LOCK),
                        KeyLayout.queued(LOCK),
                        KeyLayout.behind(LOCK),
                        KeyLayout.wanted(LOCK));
        assertThat(sent.subList(5, sent.size()))
                .containsExactly(owner.hex() + ":5000:host/1/x", "30000", "5000", "5002");
        assertThat(node().description()).isEqualTo("the node");
        assertThat(node().part(NAME)).isEmpty();
    }

    /** It may hold, wait, or never have arrived: the common case is that of a holder alone. */
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

    /** It could not be told yet: so it asks, listens, and only then asks for a place in the queue. */
    @Test
    void aPlaceInTheQueueIsAskedForOnceItListens() throws Exception {
        says(LuaScript.ACQUIRE, bulks("held", "123", "lock", "1:host/2/y", "900"));
        RedisNode node = node();
        Ballot waiting = new Ballot(request(NAME).waiting(TimeUnit.SECONDS.toNanos(10)), 5_000, 3, 1_500_000);
        answer(node.acquire(waiting));
        assertThat(ran(LuaScript.ACQUIRE)).hasSize(2);
        assertThat(ran(LuaScript.ACQUIRE).get(0)).hasSize(9);
        assertThat(last(LuaScript.ACQUIRE).get(9)).as("3 s, and 1.2 times 10 s").isEqualTo("15000");
        assertThat(last(LuaScript.ACQUIRE).get(11)).as("the claim").isEqualTo("2");
        assertThat(server.listening(last(LuaScript.ACQUIRE).get(10))).isOne();
        answer(node.acquire(waiting));
        assertThat(ran(LuaScript.ACQUIRE)).as("it listens already").hasSize(3);
        assertThat(last(LuaScript.ACQUIRE).get(9)).isEqualTo("15000");
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
        says(LuaScript.RENEW, array(List.of(":1\r\n", ":0\r\n", bulk("OOM no (at the 'pexpire' command)"))));
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
                        owner.hex(),
                        "9001",
                        owner.hex(),
                        "9001",
                        owner.hex(),
                        "9001");
        assertThat(answer(node().renew(renewals(0))).items()).isEmpty();
        assertThat(ran(LuaScript.RENEW)).hasSize(1);
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

    // ---- several requests together

    /** The first occupies the connection's thread, so that the others are ready when the next is written. */
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
        assertThat(answer(all.get(1))).as("asked for alone").isEqualTo(new NodeReply.Stale(9, life(), 123));
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

    // ---- releases

    @Test
    void aReleaseThatIsRefusedForARightIsRepeated() throws Exception {
        says(LuaScript.RELEASE, "-NOPERM no\r\n");
        assertThat(release(node(), NAME)).isInstanceOfSatisfying(ReleaseReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT);
            assertThat(failed.error()).isInstanceOf(StoreAccessException.class);
        });
        says(LuaScript.RELEASE, "-WRONGTYPE no\r\n");
        assertThat(release(node(), NAME))
                .isInstanceOfSatisfying(
                        ReleaseReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT));
        assertThat(last(LuaScript.RELEASE).subList(5, 7)).containsExactly(owner.hex(), "77");
    }

    @Test
    void ofSeveralLocksThatAreEndedTheWorstAnswerCounts() throws Exception {
        String released = bulks("released");
        String notOurs = bulks("not-ours");
        String unknown = bulks("clamped", "5");
        String permanent = "-WRONGTYPE no\r\n";
        record Case(String one, String other, Class<?> type, FailureKind kind) {}
        for (Case c : List.of(
                new Case(released, released, ReleaseReply.Released.class, null),
                new Case(released, notOurs, ReleaseReply.Released.class, null),
                new Case(notOurs, released, ReleaseReply.Released.class, null),
                new Case(notOurs, notOurs, ReleaseReply.NotOurs.class, null),
                new Case(permanent, released, ReleaseReply.Failed.class, FailureKind.PERMANENT),
                new Case(released, permanent, ReleaseReply.Failed.class, FailureKind.PERMANENT),
                new Case(permanent, notOurs, ReleaseReply.Failed.class, FailureKind.PERMANENT),
                new Case(notOurs, permanent, ReleaseReply.Failed.class, FailureKind.PERMANENT),
                new Case(permanent, unknown, ReleaseReply.Failed.class, FailureKind.UNKNOWN),
                new Case(unknown, permanent, ReleaseReply.Failed.class, FailureKind.UNKNOWN),
                new Case(unknown, released, ReleaseReply.Failed.class, FailureKind.UNKNOWN))) {
            scripts.put(LuaScript.RELEASE.sha1(), command -> command.get(3).equals(LOCK) ? c.one() : c.other());
            assertThat(release(node(), NAME, OTHER)).as("%s", c).isInstanceOfSatisfying(c.type(), reply -> {
                if (reply instanceof ReleaseReply.Failed failed) {
                    assertThat(failed.kind()).as("%s", c).isEqualTo(c.kind());
                }
            });
        }
    }

    /** No script may name keys of two servers: so the fence is raised, then the lock goes, and the whole release follows. */
    @Test
    void whileItsSlotIsMovedALockIsReleasedByItself() throws Exception {
        AtomicBoolean moving = new AtomicBoolean(true);
        List<String> order = new CopyOnWriteArrayList<>();
        scripts.put(LuaScript.RELEASE.sha1(), command -> {
            order.add("whole");
            return moving.get() ? TRY_AGAIN : bulks("released");
        });
        scripts.put(LuaScript.RAISE_FENCE.sha1(), command -> {
            order.add("fence " + String.join(" ", command.subList(3, command.size())));
            return bulks("released");
        });
        scripts.put(LuaScript.RELEASE_KEY.sha1(), command -> {
            order.add("lock " + String.join(" ", command.subList(3, command.size())));
            return bulks("released");
        });
        assertThat(release(node(), NAME)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(order.subList(0, 3))
                .containsExactly(
                        "whole",
                        "fence " + KeyLayout.fence(LOCK) + " 77 60000000 7500000",
                        "lock " + LOCK + " " + owner.hex());
        until("it is repeated", () -> order.size() >= 6);
        moving.set(false);
        int before = order.size();
        until("it is served", () -> order.size() > before);
        assertThat(order.subList(3, order.size())).containsOnly("whole");
        assertThat(runtime.delays()).contains(AGAIN_NANOS);
    }

    @Test
    void whatCannotBeReleasedByItselfIsToldAndNotRepeated() throws Exception {
        says(LuaScript.RELEASE, TRY_AGAIN);
        says(LuaScript.RAISE_FENCE, "-WRONGTYPE no\r\n");
        assertThat(release(node(), NAME))
                .isInstanceOfSatisfying(
                        ReleaseReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT));
        assertThat(ran(LuaScript.RELEASE_KEY)).isEmpty();
        says(LuaScript.RAISE_FENCE, bulks("released"));
        says(LuaScript.RELEASE_KEY, "-WRONGTYPE no\r\n");
        assertThat(release(node(), NAME)).isInstanceOf(ReleaseReply.Failed.class);
        assertThat(runtime.delays()).doesNotContain(AGAIN_NANOS);
        assertThat(FailedReplies.isOfMigration(new ReleaseReply.NotOurs())).isFalse();
    }

    /** Until the client closes, and for a minute: by then each waiter has asked again by itself. */
    @Test
    void aReleaseDuringAMoveIsRepeatedForAMinuteAndNotAfterTheClose() throws Exception {
        says(LuaScript.RELEASE, TRY_AGAIN);
        says(LuaScript.RAISE_FENCE, bulks("released"));
        says(LuaScript.RELEASE_KEY, bulks("not-ours"));
        List<Runnable> later = Collections.synchronizedList(new ArrayList<>());
        long[] now = {0};
        io.leasehold.spi.LockRuntime ruled = (io.leasehold.spi.LockRuntime) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {io.leasehold.spi.LockRuntime.class},
                (self, method, arguments) -> {
                    if (method.getName().equals("nanoTime")) {
                        return now[0];
                    }
                    if (method.getName().equals("schedule") && arguments[0].equals(AGAIN_NANOS)) {
                        later.add((Runnable) arguments[1]);
                        return (io.leasehold.spi.LockRuntime.Timer) () -> {};
                    }
                    return method.invoke(runtime, arguments);
                });
        RedisNode node = new RedisNode("the node", settings(false), topology, where.errors(), ruled);
        assertThat(release(node, NAME)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(later).hasSize(1);
        now[0] = TimeUnit.SECONDS.toNanos(60) - 1;
        later.remove(0).run();
        until("once more", () -> later.size() == 1);
        now[0]++;
        later.remove(0).run();
        until("the last is answered", () -> ran(LuaScript.RELEASE).size() == 3);
        answer(node.probe(LIMIT_NANOS));
        assertThat(later).isEmpty();

        assertThat(release(node, NAME)).isInstanceOf(ReleaseReply.NotOurs.class);
        node.close();
        later.remove(0).run();
        assertThat(ran(LuaScript.RELEASE)).hasSize(4);
    }
}
