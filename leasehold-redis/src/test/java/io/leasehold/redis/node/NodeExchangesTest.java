// Long because all that a node, its requests and the plain store exchange is looked at over one scripted server.
package io.leasehold.redis.node;

import static io.leasehold.redis.topology.ScriptedRedis.array;
import static io.leasehold.redis.topology.ScriptedRedis.bulk;
import static io.leasehold.redis.topology.ScriptedRedis.bulks;
import static io.leasehold.redis.topology.ScriptedRedis.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Guarantee;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.LossCause;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.Waiter;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.WatchedRuntime;
import io.leasehold.redis.store.RedisGuarantees;
import io.leasehold.redis.topology.Acknowledgement;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.topology.DriverThreads;
import io.leasehold.redis.topology.ScriptedRedis;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.wire.CompareAndDelete;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Ballot;
import io.leasehold.spi.Birth;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.Membership;
import io.leasehold.spi.NodeReply;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.StoreUri;
import io.lettuce.core.api.async.RedisAsyncCommands;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a node and a plain store send, and what they make of each answer, by a server that says what the test has it say. */
@Tag("quick")
@Timeout(120)
final class NodeExchangesTest {

    private static final LockName NAME = LockName.of("x");
    private static final LockName OTHER = LockName.of("y");
    private static final String LOCK = KeyLayout.standard().lock(NAME);
    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(600);
    private static final long AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final String TRY_AGAIN = "-TRYAGAIN Multiple keys request during rehashing of slot\r\n";

    private final WatchedRuntime runtime = new WatchedRuntime(new SystemLockRuntime(), delay -> true);
    private final Map<String, Function<List<String>, String>> scripts = new ConcurrentHashMap<>();
    private final Map<String, List<List<String>>> ran = new ConcurrentHashMap<>();
    private final OwnerToken owner = OwnerToken.draw(runtime);
    private ScriptedRedis server;
    private Deployment where;
    private Topology topology;

    @BeforeEach
    void start() throws Exception {
        server = new ScriptedRedis();
        server.says("EVALSHA", command -> {
            ran.computeIfAbsent(command.get(1), sha -> new CopyOnWriteArrayList<>())
                    .add(command.subList(3, command.size()));
            return scripts.get(command.get(1)).apply(command);
        });
        where = Deployment.parse(StoreUri.parse("redis://" + server.address()));
        topology = Topology.of(where, where.errors(), runtime, new DriverThreads());
        answer(topology.open());
    }

    @AfterEach
    void close() throws Exception {
        topology.close();
        runtime.close();
        server.close();
    }

    private static <T> T answer(CompletableFuture<T> future) throws Exception {
        return future.get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS);
    }

    private void says(LuaScript script, String answer) {
        scripts.put(script.sha1(), command -> answer);
    }

    /** Keys and arguments of each run. */
    private List<List<String>> ran(LuaScript script) {
        return ran.getOrDefault(script.sha1(), List.of());
    }

    private List<String> last(LuaScript script) {
        return ran(script).get(ran(script).size() - 1);
    }

    private NodeSettings settings(boolean member) {
        return member
                ? NodeSettings.ofMember(RedisGuarantees.single(false))
                : NodeSettings.standard(RedisGuarantees.single(false));
    }

    private RedisNode node() {
        return node(settings(false));
    }

    private RedisNode node(NodeSettings settings) {
        return new RedisNode("the node", settings, topology, where.errors(), runtime);
    }

    private AcquireRequest request(LockName... names) {
        return AcquireRequest.exclusive(List.of(names), owner, "host/1/x", TimeUnit.SECONDS.toNanos(30), LIMIT_NANOS);
    }

    private Ballot ballot(LockName... names) {
        return new Ballot(request(names), 5_000, 3);
    }

    private Incarnation life() {
        return new Incarnation("life" + server.port());
    }

    private ReleaseReply release(RedisNode node, LockName... names) throws Exception {
        return answer(
                node.release(new ReleaseRequest(List.of(names), owner, 77, ReleaseRequest.Kind.RELEASE, LIMIT_NANOS)));
    }

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
                        KeyLayout.waiters(LOCK),
                        KeyLayout.asked(LOCK));
        assertThat(sent.subList(5, 12))
                .containsExactly(owner.hex() + ":5000:host/1/x", "30000", "5000", "5002", "60000000", "7500000", "0");
        assertThat(node().description()).isEqualTo("the node");
        assertThat(node().part(NAME)).isEmpty();
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
            assertThat(answer(narrow.describe(refused))).isEmpty();
            assertThat(answer(narrow.waiters(refused, 5))).isEmpty();
            assertThat(answer(narrow.forceRelease(refused, null))).isFalse();
            assertThat(server.asked("")).isEqualTo(before);
        }
    }

    /** Nobody would tell it yet: so it asks, listens, and only then asks for a place in the queue. */
    @Test
    void aPlaceInTheQueueIsAskedForOnceItListens() throws Exception {
        says(LuaScript.ACQUIRE, bulks("held", "123", "lock", "1:host/2/y", "900"));
        RedisNode node = node();
        Ballot waiting = new Ballot(request(NAME).waiting(TimeUnit.SECONDS.toNanos(10)), 5_000, 3, 1_500_000);
        answer(node.acquire(waiting));
        assertThat(ran(LuaScript.ACQUIRE)).hasSize(2);
        assertThat(ran(LuaScript.ACQUIRE).get(0).get(11)).isEqualTo("0");
        assertThat(last(LuaScript.ACQUIRE).get(11))
                .as("3 s, and 1.2 times 10 s")
                .isEqualTo("15000");
        assertThat(last(LuaScript.ACQUIRE).get(13)).as("the claim").isEqualTo("2");
        assertThat(server.listening(last(LuaScript.ACQUIRE).get(12))).isOne();
        answer(node.acquire(waiting));
        assertThat(ran(LuaScript.ACQUIRE)).as("it listens already").hasSize(3);
        assertThat(last(LuaScript.ACQUIRE).get(11)).isEqualTo("15000");
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

    private RenewBatch renewals(int count) {
        return new RenewBatch(
                IntStream.range(0, count)
                        .mapToObj(i -> new RenewBatch.Item(LockName.of("n" + i), owner, 9_000_000_001L))
                        .toList(),
                LIMIT_NANOS);
    }

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
        assertThat(last(LuaScript.RELEASE).subList(5, 10))
                .containsExactly(owner.hex(), "77", "60000000", "7500000", "3000000");
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
        assertThat(MigrationFallback.isUnderWay(new ReleaseReply.NotOurs())).isFalse();
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

    // ---- pushes

    @Test
    void whatIsPushedIsToldToTheListener() throws Exception {
        List<String> told = new CopyOnWriteArrayList<>();
        RedisNode node = node();
        node.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                told.add("wake " + name);
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {}

            @Override
            public void takenAway(LockName name) {
                told.add("taken " + name);
            }

            @Override
            public void handedOver(HandOver handOver) {
                told.add("handed " + handOver.name());
            }

            @Override
            public void reconnected() {
                told.add("reconnected");
            }
        });
        says(LuaScript.ACQUIRE, bulks("held", "123", "lock", "1:host/2/y", "900"));
        answer(node.acquire(new Ballot(request(NAME).waiting(LIMIT_NANOS), 5_000, 3)));
        String channel = last(LuaScript.ACQUIRE).get(12);
        server.publish(channel, "wake a 5 " + LOCK);
        server.publish(channel, "taken " + LOCK);
        server.publish(channel, "handed a 5 7 8 " + LOCK);
        server.publish(channel, "something else");
        until("all is told", () -> told.size() == 3);
        assertThat(told).containsExactly("wake x", "taken x", "handed x");
        server.endListeners();
        until("it listens again", () -> told.size() == 4);
        assertThat(told.get(3)).isEqualTo("reconnected");
        server.endOthers();
        until("it is connected again", () -> told.size() == 5);
        node.close();
        until("nothing is left", () -> server.open() == 0);
        int delays = runtime.delays().size();
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(150));
        assertThat(runtime.delays()).as("nothing is tried again").hasSize(delays);
    }

    // ---- replicas that acknowledge

    @Test
    void aGrantThatIsToBeAcknowledgedIsRefusedWithoutIt() throws Exception {
        topology.close();
        server.says("WAIT", ":1\r\n");
        where = Deployment.parse(StoreUri.parse("redis://" + server.address() + "?waitReplicas=2"));
        topology = Topology.of(where, where.errors(), runtime, new DriverThreads());
        answer(topology.open());
        says(LuaScript.ACQUIRE, bulks("yes", "123"));
        RedisNode waits = node(settings(false).acknowledged(new Acknowledgement(2, 100)));
        assertThat(answer(waits.acquire(ballot(NAME))))
                .isInstanceOfSatisfying(
                        NodeReply.Refused.class,
                        refused -> assertThat(refused.spent()).isTrue());
        server.says("WAIT", ":2\r\n");
        assertThat(answer(waits.acquire(ballot(NAME)))).isEqualTo(new NodeReply.Yes(life(), 123));
        long before = server.asked("WAIT");
        assertThat(answer(node().acquire(ballot(NAME)))).isEqualTo(new NodeReply.Yes(life(), 123));
        assertThat(server.asked("WAIT")).isEqualTo(before);
    }

    // ---- a member of a set

    private static final Membership SET = new Membership("set", 1_000, 2_000, 3_000, Membership.Persistence.DURABLE);

    @Test
    void aMemberIsAskedWithTheClockOfItsSet() throws Exception {
        says(LuaScript.MEMBER_ACQUIRE, bulks("yes", "123"));
        assertThat(answer(node(settings(true)).acquire(ballot(NAME), SET))).isEqualTo(new NodeReply.Yes(life(), 123));
        List<String> sent = last(LuaScript.MEMBER_ACQUIRE);
        assertThat(sent.subList(0, 4))
                .containsExactly(LOCK, KeyLayout.fence(LOCK), KeyLayout.watchers(LOCK), KeyLayout.marker(""));
        assertThat(sent.subList(4, 11))
                .containsExactly(
                        owner.hex() + ":5000:host/1/x",
                        "30000",
                        "5000",
                        "5002",
                        "60000000",
                        Long.toString(SET.boundMicros()),
                        "0");
        assertThat(sent.subList(12, 17))
                .containsExactly(
                        Long.toString(SET.estimateMicros()),
                        "set",
                        Long.toString(SET.estimateMicros()),
                        Long.toString(SET.quarantineMicros()),
                        "durable");
    }

    /** Its round must not wait for a subscription: so it is watched with the next one that asks. */
    @Test
    void aMemberIsWatchedOnceTheClientListens() throws Exception {
        says(LuaScript.MEMBER_ACQUIRE, bulks("held", "123", "lock", "1:host/2/y", "900"));
        RedisNode node = node(settings(true));
        Ballot waiting = new Ballot(request(NAME).waiting(TimeUnit.SECONDS.toNanos(10)), 5_000, 3);
        answer(node.acquire(waiting, SET));
        assertThat(ran(LuaScript.MEMBER_ACQUIRE).get(0).get(10)).isEqualTo("0");
        until("it listens", () -> server.channels().size() == 1);
        until("it is watched", () -> {
            try {
                answer(node.acquire(waiting, SET));
            } catch (Exception e) {
                throw new AssertionError(e);
            }
            return last(LuaScript.MEMBER_ACQUIRE).get(10).equals("15000");
        });
        int before = ran(LuaScript.MEMBER_ACQUIRE).size();
        answer(node.acquire(waiting, SET));
        assertThat(ran(LuaScript.MEMBER_ACQUIRE)).hasSize(before + 1);
    }

    @Test
    void aMemberIsToldItsBirth() throws Exception {
        says(LuaScript.MEMBER_BIRTH, bulks("born", "123"));
        assertThat(answer(node(settings(true)).birth(new Birth("nonce", 55, "set", LIMIT_NANOS))))
                .isEqualTo(new NodeReply.Stale(0, life(), 123));
        assertThat(last(LuaScript.MEMBER_BIRTH)).containsExactly(KeyLayout.marker(""), "nonce", "55", "set");
    }

    @Test
    void aMemberIsReleasedByAScriptOfItsOwn() throws Exception {
        says(LuaScript.MEMBER_RELEASE, bulks("released"));
        assertThat(release(node(settings(true)), NAME)).isInstanceOf(ReleaseReply.Released.class);
        List<String> sent = last(LuaScript.MEMBER_RELEASE);
        assertThat(sent.subList(0, 7))
                .containsExactly(
                        LOCK,
                        KeyLayout.fence(LOCK),
                        KeyLayout.watchers(LOCK),
                        owner.hex(),
                        "77",
                        "60000000",
                        "7500000");
        assertThat(sent.subList(8, 10)).containsExactly("3000000", "leave");
    }

    /** A Cluster as a member: a life is the life of one slot. */
    private RedisNode memberOfSlots(List<String> tags) {
        Topology slots = (Topology) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {Topology.class},
                (self, method, arguments) -> switch (method.getName()) {
                    case "slotTags" -> tags;
                    case "slotTag" -> "17";
                    case "part" -> "part of " + arguments[0];
                    default -> method.invoke(topology, arguments);
                });
        return new RedisNode("the node", settings(true), slots, where.errors(), runtime);
    }

    @Test
    void theLifeOfAClusterIsTheLifeOfEachSlot() throws Exception {
        List<String> tags = IntStream.range(0, 600).mapToObj(Integer::toString).toList();
        RedisNode member = memberOfSlots(tags);
        assertThat(member.part(NAME)).isEqualTo("part of " + LOCK);
        says(LuaScript.MEMBER_ACQUIRE, bulks("unborn", "123", "nonce"));
        assertThat(answer(member.acquire(ballot(NAME), SET))).isEqualTo(new NodeReply.Unborn("17/nonce", life(), 123));
        assertThat(last(LuaScript.MEMBER_ACQUIRE).get(3)).isEqualTo(KeyLayout.marker("17"));
        assertThat(answer(node(settings(true)).acquire(ballot(NAME), SET)))
                .isEqualTo(new NodeReply.Unborn("nonce", life(), 123));
        says(LuaScript.MEMBER_ACQUIRE, bulks("yes", "123"));
        assertThat(answer(member.acquire(ballot(NAME), SET))).isEqualTo(new NodeReply.Yes(life(), 123));

        says(LuaScript.MEMBER_BIRTH, bulks("born", "123"));
        assertThat(answer(member.birth(new Birth("17/nonce", 55, "set", LIMIT_NANOS))))
                .isInstanceOf(NodeReply.Stale.class);
        assertThat(last(LuaScript.MEMBER_BIRTH)).containsExactly(KeyLayout.marker("17"), "nonce", "55", "set");
        assertThat(ran(LuaScript.MEMBER_BIRTH)).hasSize(1);
        assertThat(answer(member.birth(Birth.declared("set", LIMIT_NANOS)))).isInstanceOf(NodeReply.Stale.class);
        assertThat(ran(LuaScript.MEMBER_BIRTH)).hasSize(601);
        assertThat(ran(LuaScript.MEMBER_BIRTH).stream().map(run -> run.get(0)).distinct())
                .hasSize(600);
    }

    /** In the first hundreds or in the rest. */
    @Test
    void aSlotThatIsNotDeclaredIsTold() throws Exception {
        List<String> tags = IntStream.range(0, 600).mapToObj(Integer::toString).toList();
        for (String failing : List.of("3", "599")) {
            scripts.put(
                    LuaScript.MEMBER_BIRTH.sha1(),
                    command ->
                            command.get(3).equals(KeyLayout.marker(failing)) ? "-NOPERM no\r\n" : bulks("born", "123"));
            assertThat(answer(memberOfSlots(tags).birth(Birth.declared("set", LIMIT_NANOS))))
                    .as(failing)
                    .isInstanceOf(NodeReply.Failed.class);
        }
    }

    // ---- operators

    @Test
    void aHolderIsToldOfWhatWasTakenFromIt() throws Exception {
        says(LuaScript.INSPECT, bulks("held", "lock", "1:host/2/y", "900"));
        says(LuaScript.FORCE_RELEASE, bulks("removed"));
        server.says("MGET", array(List.of(bulk("lock:wake:abc\nrecord"))));
        server.says("PUBLISH", ":1\r\n");
        assertThat(answer(node().forceRelease(NAME, null))).isTrue();
        assertThat(server.asked("MGET " + KeyLayout.client("host/2/y"))).isOne();
        assertThat(server.asked("PUBLISH lock:wake:abc taken " + LOCK)).isOne();
        server.says("PUBLISH", "-NOPERM no\r\n");
        assertThat(answer(node().forceRelease(NAME, null))).as("untold").isTrue();
        says(LuaScript.FORCE_RELEASE, bulks("none"));
        long before = server.asked("MGET");
        assertThat(answer(node().forceRelease(NAME, null))).isFalse();
        says(LuaScript.INSPECT, bulks("free"));
        says(LuaScript.FORCE_RELEASE, bulks("removed"));
        assertThat(answer(node().forceRelease(NAME, null))).isTrue();
        assertThat(server.asked("MGET")).isEqualTo(before);
    }

    @Test
    void whereNoQueueIsIdleNothingIsLookedAtASecondTime() throws Exception {
        server.says("SCAN", array(List.of(bulk("0"), bulks(KeyLayout.fence(LOCK)))));
        server.says("PTTL", ":500\r\n");
        assertThat(answer(node().operations().leaks())).isEmpty();
        assertThat(runtime.delays()).doesNotContain(TimeUnit.SECONDS.toNanos(4));
    }

    @Test
    void whatOperatorsAskIsBoundedAndDecoded() throws Exception {
        says(LuaScript.WAITERS, bulks("2000000", "1000000", "host/3/z"));
        assertThat(answer(node().waiters(NAME, 5_000)))
                .containsExactly(new Waiter("host/3/z", java.time.Duration.ofSeconds(1)));
        assertThat(last(LuaScript.WAITERS)).containsExactly(KeyLayout.waiters(LOCK), KeyLayout.asked(LOCK), "1000");
        says(LuaScript.INSPECT, bulks("free"));
        assertThat(answer(node().describe(NAME))).isEmpty();
        says(LuaScript.FORCE_RELEASE, bulks("none"));
        assertThat(answer(node().forceRelease(NAME, "host/3/z"))).isFalse();
        assertThat(last(LuaScript.FORCE_RELEASE).subList(5, 8)).containsExactly("host/3/z", "60000000", "3000000");
        assertThat(answer(node().forceRelease(NAME, null))).isFalse();
        assertThat(last(LuaScript.FORCE_RELEASE).get(5)).isEmpty();
        int before = ran(LuaScript.FORCE_RELEASE).size();
        assertThat(answer(node().forceRelease(NAME, ""))).isFalse();
        assertThat(ran(LuaScript.FORCE_RELEASE)).hasSize(before);
        says(LuaScript.INSPECT, "-LOADING no\r\n");
        assertThatThrownBy(() -> answer(node().describe(NAME)))
                .hasCauseInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("inspect lock \"x\"");
        says(LuaScript.WAITERS, "-LOADING no\r\n");
        assertThatThrownBy(() -> answer(node().waiters(NAME, 1))).hasMessageContaining("list the waiters of lock");
        server.says("SCAN", "-LOADING no\r\n");
        assertThatThrownBy(() -> answer(node().list("*", 1))).hasMessageContaining("list locks");
        assertThatThrownBy(() -> answer(node().operations().leaks())).hasMessageContaining("look for leaks");
    }

    @Test
    void whatNeedsAServerIsRefusedWithoutOne() throws Exception {
        RedisNode node = node();
        server.close();
        until("it is gone", () -> topology.current(LOCK) == null);
        assertThatThrownBy(() -> answer(node.list("*", 1))).hasCauseInstanceOf(LockStoreException.class);
        assertThatThrownBy(() -> answer(node.operations().leaks())).hasCauseInstanceOf(LockStoreException.class);
        assertThatThrownBy(() -> answer(node.operations().diagnose())).hasCauseInstanceOf(LockStoreException.class);
        assertThat(answer(node.acquire(ballot(NAME))))
                .isInstanceOfSatisfying(
                        NodeReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT));
    }

    /** A key of ours without an end, and a queue before a lock that stays free; walked in steps. */
    @Test
    void leaksAreLookedForInSteps() throws Exception {
        runtime.hurry(TimeUnit.SECONDS.toNanos(4), TimeUnit.MILLISECONDS.toNanos(1));
        runtime.changing(delay -> delay == TimeUnit.SECONDS.toNanos(4) ? 1_000_000 : delay);
        String fence = KeyLayout.fence(LOCK);
        String queue = KeyLayout.waiters(KeyLayout.standard().lock(OTHER));
        server.says(
                "SCAN",
                command -> command.get(1).equals("0")
                        ? array(List.of(bulk("7"), bulks(fence, LOCK)))
                        : array(List.of(bulk("0"), bulks(queue, KeyLayout.marker("")))));
        server.says(
                "PTTL",
                command -> command.get(1).equals(fence)
                        ? ":-1\r\n"
                        : command.get(1).equals(queue) ? ":500\r\n" : ":-2\r\n");
        RedisNode node = node();
        List<Long> seen = new CopyOnWriteArrayList<>();
        node.operations().onProgress(seen::add);
        assertThat(answer(node.operations().leaks()))
                .extracting(leak -> leak.kind() + " " + leak.subject())
                .containsExactly("SIDE_KEY " + fence, "WAITERS_STUCK y");
        assertThat(seen).containsExactly(500L, 1_000L);
        assertThat(server.asked("PTTL " + KeyLayout.marker(""))).isZero();
        assertThat(server.asked("PTTL " + LOCK)).isEqualTo(server.asked("PTTL " + fence));
    }

    // ---- requests

    private Requests requests() {
        return new Requests(topology, where.errors(), runtime);
    }

    private static CompletableFuture<String> time(Requests requests, long limitNanos) {
        return requests.<List<String>, String>send(
                "read the clock",
                limitNanos,
                LOCK,
                (link, then) -> link.send(RedisAsyncCommands::time, then),
                (time, link) -> time.get(0),
                failure -> failure.kind() + ": " + failure.error().getMessage());
    }

    /** Those that hold a lock can still keep it and give it back when nothing that asks for one is sent any more. */
    @Test
    void whatAsksForLocksIsRefusedFirst() throws Exception {
        says(LuaScript.ACQUIRE, bulks("yes", "1"));
        says(LuaScript.RELEASE, bulks("released"));
        Requests requests = requests();
        for (int i = 1; i < Requests.MOST / 2; i++) {
            assertThat(unanswered(requests)).isNotDone();
        }
        assertThat(acquire(requests)).as("the last that may").isEqualTo("yes");
        CompletableFuture<String> one = unanswered(requests);
        assertThat(acquire(requests)).startsWith("NO_EFFECT").contains(Integer.toString(Requests.MOST / 2));
        assertThat(asked(requests)).startsWith("NO_EFFECT");
        for (int i = Requests.MOST / 2 + 1; i < Requests.MOST; i++) {
            assertThat(unanswered(requests)).isNotDone();
        }
        assertThat(run(requests, LuaScript.RELEASE)).as("the last that may").isEqualTo("released");
        assertThat(unanswered(requests)).isNotDone();
        assertThat(answer(unanswered(requests))).startsWith("NO_EFFECT");
        assertThat(run(requests, LuaScript.RELEASE)).startsWith("NO_EFFECT");
        assertThat(one).isNotDone();
    }

    private static CompletableFuture<String> unanswered(Requests requests) {
        return requests.<String, String>send(
                "wait",
                LIMIT_NANOS,
                LOCK,
                (link, then) -> {},
                (reply, link) -> reply,
                failure -> failure.kind().toString());
    }

    private static String acquire(Requests requests) throws Exception {
        return run(requests, LuaScript.ACQUIRE);
    }

    private static String asked(Requests requests) throws Exception {
        return answer(requests.<String, String>ask(
                "ask",
                LIMIT_NANOS,
                LOCK,
                (link, then) -> link.send(redis -> redis.get("x"), then),
                (reply, link) -> reply,
                failure -> failure.kind().toString()));
    }

    private static String run(Requests requests, LuaScript script) throws Exception {
        return answer(requests.run(
                "run",
                LIMIT_NANOS,
                script,
                new String[] {LOCK},
                new String[0],
                (reply, link) -> (String) reply.get(0),
                failure -> failure.kind() + ": " + failure.error().getMessage()));
    }

    @Test
    void anAnswerThatDoesNotComeIsToldInTimeAndToTheTopology() throws Exception {
        server.says("TIME", ScriptedRedis.SILENCE);
        List<Object> told = new CopyOnWriteArrayList<>();
        Topology watched = (Topology) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Topology.class}, (self, method, arguments) -> {
                    if (method.getName().equals("unanswered")) {
                        told.add(arguments[0]);
                        return null;
                    }
                    return method.invoke(topology, arguments);
                });
        Requests requests = new Requests(watched, where.errors(), runtime);
        assertThat(answer(time(requests, TimeUnit.MILLISECONDS.toNanos(30))))
                .startsWith("UNKNOWN")
                .contains("read the clock");
        until("it is told", () -> told.size() == 1);
        assertThat(told).containsExactly(topology.current(LOCK));
    }

    /** A slot that is moved to and fro leads a request no further than five times. */
    @Test
    void aRequestIsLedOnFiveTimes() throws Exception {
        AtomicInteger asked = new AtomicInteger();
        server.says("TIME", command -> {
            asked.incrementAndGet();
            return "-ASK 5 127.0.0.1:1\r\n";
        });
        Topology leading = (Topology) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {Topology.class},
                (self, method, arguments) -> method.getName().equals("detour")
                        ? CompletableFuture.completedFuture(new Topology.Detour(topology.current(LOCK), true))
                        : method.invoke(topology, arguments));
        Requests requests = new Requests(leading, where.errors(), runtime);
        assertThat(answer(time(requests, LIMIT_NANOS))).contains("ASK 5");
        assertThat(asked).hasValue(6);
        assertThat(server.asked("ASKING")).isEqualTo(5);
        server.says("EVALSHA", "-ASK 5 127.0.0.1:1\r\n");
        assertThat(run(requests, LuaScript.ACQUIRE)).contains("ASK 5");
        assertThat(server.asked("ASKING")).isEqualTo(10);
        server.says("GET", "-ASK 5 127.0.0.1:1\r\n");
        assertThat(asked(requests)).isNotEmpty();
        assertThat(server.asked("ASKING")).isEqualTo(15);
    }

    @Test
    void aWayThatIsNotFoundSaysWhy() throws Exception {
        server.says("TIME", "-MOVED 5 127.0.0.1:1\r\n");
        for (Throwable why :
                List.of(new StoreUnavailableException("nobody is there", null), new IllegalStateException("hidden"))) {
            Topology lost = (Topology) Proxy.newProxyInstance(
                    getClass().getClassLoader(),
                    new Class<?>[] {Topology.class},
                    (self, method, arguments) -> method.getName().equals("detour")
                            ? CompletableFuture.failedFuture(why)
                            : method.invoke(topology, arguments));
            String told = answer(time(new Requests(lost, where.errors(), runtime), LIMIT_NANOS));
            assertThat(told).startsWith("NO_EFFECT").doesNotContain("hidden");
            if (why instanceof LockStoreException) {
                assertThat(told).contains("nobody is there");
            }
        }
    }

    @Test
    void anAnswerThatCannotBeReadIsNoAnswer() throws Exception {
        says(LuaScript.ACQUIRE, "*0\r\n");
        assertThat(acquire(requests())).startsWith("UNKNOWN").contains("gave an answer to run that cannot be read");
        server.says("TIME", bulks("5", "6"));
        CompletableFuture<Object> refused = requests()
                .<List<String>, Object>send(
                        "read the clock",
                        LIMIT_NANOS,
                        LOCK,
                        (link, then) -> link.send(RedisAsyncCommands::time, then),
                        (time, link) -> {
                            throw new StoreAccessException("as it is", null);
                        },
                        failure -> failure);
        assertThatThrownBy(() -> answer(refused)).hasCauseInstanceOf(LockStoreException.class);
    }

    // ---- plain locks

    private EfficiencyStore plain() {
        return new EfficiencyStore("the store", KeyLayout.standard(), topology, where.errors(), runtime);
    }

    @Test
    void aPlainLockIsSetIfItIsFree() throws Exception {
        EfficiencyStore store = plain();
        assertThat(store.guarantees().queueing()).isEqualTo(Guarantee.Queueing.POLLING);
        says(LuaScript.RENEW, array(List.of(":1\r\n", ":0\r\n")));
        List<RenewReply.Item> renewed = answer(store.renew(renewals(2))).items();
        assertThat(renewed.get(0)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(renewed.get(1)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(last(LuaScript.RENEW))
                .containsExactly("lock:{n0}", "lock:{n1}", owner.hex(), "9001", owner.hex(), "9001");
        server.says("SET", "+OK\r\n");
        AcquireReply reply = answer(store.acquire(request(NAME).reserve(4)));
        assertThat(reply).isInstanceOfSatisfying(AcquireReply.Granted.class, granted -> {
            assertThat(granted.grant().tokens().first()).isEqualTo(1);
            assertThat(granted.grant().tokens().last()).isEqualTo(4);
        });
        assertThat(answer(store.acquire(request(NAME))))
                .isInstanceOfSatisfying(
                        AcquireReply.Granted.class,
                        granted -> assertThat(granted.grant().tokens().first()).isEqualTo(5));
        assertThat(server.asked("SET " + LOCK + " " + owner.hex() + "::host/1/x PX 30000 NX"))
                .isEqualTo(2);
        server.says("SET", "$-1\r\n");
        assertThat(answer(store.acquire(request(NAME)))).isEqualTo(new AcquireReply.Busy(null, 0, List.of()));
        server.says("SET", "-NOPERM no\r\n");
        assertThat(answer(store.acquire(request(NAME)))).isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT);
            assertThat(failed.ballot()).isZero();
        });
        assertThat(store.description()).isEqualTo("the store");
    }

    /** What became of the first is not known: the next one looks whether the key is its own. */
    @Test
    void aPlainRequestWithoutAnAnswerIsToldByItsBallot() throws Exception {
        EfficiencyStore store = plain();
        server.says("SET", ScriptedRedis.END);
        assertThat(answer(store.acquire(request(NAME)))).isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN);
            assertThat(failed.ballot()).isOne();
        });
        until("it is connected again", () -> topology.current(LOCK) != null);
        says(LuaScript.PLAIN_ACQUIRE, array(List.of(":1\r\n")));
        assertThat(answer(store.acquire(request(NAME).ballotSoFar(1)))).isInstanceOf(AcquireReply.Granted.class);
        assertThat(last(LuaScript.PLAIN_ACQUIRE)).containsExactly(LOCK, owner.hex() + "::host/1/x", "30000");
        says(LuaScript.PLAIN_ACQUIRE, array(List.of(":0\r\n")));
        assertThat(answer(store.acquire(request(NAME).ballotSoFar(1))))
                .isEqualTo(new AcquireReply.Busy(null, 1, List.of()));
    }

    private ReleaseReply release(EfficiencyStore store) throws Exception {
        return answer(
                store.release(new ReleaseRequest(List.of(NAME), owner, 1, ReleaseRequest.Kind.RELEASE, LIMIT_NANOS)));
    }

    /** A proxy in between may not know the command: then, and only then, the script does it. */
    @Test
    void aPlainReleaseGoesOverToTheScriptOnlyWhereTheCommandIsRefused() throws Exception {
        EfficiencyStore store = plain();
        server.says("SET", "+OK\r\n");
        answer(store.acquire(request(NAME)));
        says(LuaScript.PLAIN_RELEASE, array(List.of(":1\r\n")));
        String value = owner.hex() + "::host/1/x";
        for (CompareAndDelete way : CompareAndDelete.values()) {
            if (way == CompareAndDelete.SCRIPT) {
                continue;
            }
            store.comparing(way);
            server.says(way.name(), ":1\r\n");
            assertThat(release(store)).isInstanceOf(ReleaseReply.Released.class);
            server.says(way.name(), ":0\r\n");
            assertThat(release(store)).isInstanceOf(ReleaseReply.NotOurs.class);
            assertThat(server.asked(way.name() + " " + LOCK + (way == CompareAndDelete.DELEX ? " IFEQ " : " ") + value))
                    .isEqualTo(2);
            server.says(way.name(), "-LOADING no\r\n");
            assertThat(release(store)).isInstanceOf(ReleaseReply.Failed.class);
            assertThat(store.comparison()).isEqualTo(way);
            int before = ran(LuaScript.PLAIN_RELEASE).size();
            server.says(way.name(), "-ERR unknown command\r\n");
            assertThat(release(store)).isInstanceOf(ReleaseReply.Released.class);
            assertThat(ran(LuaScript.PLAIN_RELEASE)).hasSize(before + 1);
            assertThat(last(LuaScript.PLAIN_RELEASE)).containsExactly(LOCK, value);
            assertThat(store.comparison()).isEqualTo(CompareAndDelete.SCRIPT);
        }
        says(LuaScript.PLAIN_RELEASE, "-NOPERM no\r\n");
        assertThat(release(store))
                .isInstanceOfSatisfying(
                        ReleaseReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT));
    }

    @Test
    void thePlainStoreFindsOutWhatItsServerHas() throws Exception {
        EfficiencyStore store = plain();
        assertThat(answer(store.detect())).isEqualTo(CompareAndDelete.SCRIPT);
        server.says("INFO", bulk("redis_version:8.4.0\r\n"));
        assertThat(answer(store.detect())).isEqualTo(CompareAndDelete.DELEX);
        assertThat(store.comparison()).isEqualTo(CompareAndDelete.DELEX);
        server.says("INFO", "-NOPERM no\r\n");
        assertThat(answer(store.detect())).isEqualTo(CompareAndDelete.SCRIPT);
        AtomicInteger told = new AtomicInteger();
        store.listen((StoreSignals) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {StoreSignals.class}, (self, method, arguments) -> {
                    told.incrementAndGet();
                    return null;
                }));
        server.is("role:master");
        server.endAll();
        until("it is told", () -> told.get() == 1);
        says(LuaScript.INSPECT, bulks("free"));
        assertThat(answer(store.describe(NAME))).isEmpty();
        says(LuaScript.FORCE_RELEASE, bulks("removed"));
        assertThat(answer(store.forceRelease(NAME, null))).isTrue();
        server.says("SCAN", array(List.of(bulk("0"), bulks(LOCK))));
        says(LuaScript.INSPECT, bulks("held", "lock", "1:host/2/y", "900"));
        assertThat(answer(store.list("*", 5))).hasSize(1);
        assertThat(answer(store.renew(new RenewBatch(List.of(), LIMIT_NANOS))).items())
                .isEmpty();
        store.close();
        until("nothing is left", () -> server.open() == 0);
    }
}
