package io.leasehold.redis.node;

import static io.leasehold.redis.topology.ScriptedRedis.array;
import static io.leasehold.redis.topology.ScriptedRedis.bulk;
import static io.leasehold.redis.topology.ScriptedRedis.bulks;
import static io.leasehold.redis.topology.ScriptedRedis.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.LossCause;
import io.leasehold.StoreUnavailableException;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.node.Ballot;
import io.leasehold.node.Birth;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.topology.Acknowledgement;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.topology.DriverThreads;
import io.leasehold.redis.topology.LettuceDriver;
import io.leasehold.redis.topology.Topologies;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.StoreUri;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the requests of a node, and of messages to it, as a member of a set, with replicas, and for operators. */
@Tag("quick")
@Timeout(120)
final class MemberExchangesTest extends NodeExchanges {

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
        String channel = last(LuaScript.ACQUIRE).get(11);
        server.publish(channel, "wake a 5 " + LOCK);
        server.publish(channel, "taken " + LOCK);
        server.publish(channel, "handed a 5 7 8 " + LOCK);
        server.publish(channel, "something else");
        until("all is reported", () -> told.size() == 3);
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
        topology = Topologies.of(where, LettuceDriver.of(where, new DriverThreads()), where.errors(), runtime);
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
        assertThat(sent.subList(0, 7))
                .containsExactly(
                        LOCK,
                        KeyLayout.fence(LOCK),
                        KeyLayout.watchers(LOCK),
                        KeyLayout.marker(""),
                        KeyLayout.readWatchers(LOCK),
                        KeyLayout.readers(LOCK),
                        KeyLayout.readersWait(LOCK));
        assertThat(sent.subList(7, 14))
                .containsExactly(
                        owner.hex() + ":5000:host/1/x",
                        "30000",
                        "5000",
                        "5002",
                        "60000000",
                        Long.toString(SET.boundMicros()),
                        "0");
        assertThat(sent.subList(15, 20))
                .containsExactly(
                        "0",
                        "set",
                        Long.toString(SET.estimateMicros()),
                        Long.toString(SET.quarantineMicros()),
                        "durable");
    }

    @Test
    void aReaderOfAMemberHasScriptsOfItsOwn() throws Exception {
        LockName reads = NAME.asRead();
        RedisNode node = node(settings(true));
        assertThat(node.keepsReaders()).isTrue();
        says(LuaScript.MEMBER_READ_ACQUIRE, bulks("yes", "123"));
        Ballot proposed = new Ballot(request(reads), 5_000, 1, 0, Ballot.HOLDERS);
        assertThat(answer(node.acquire(proposed, SET))).isEqualTo(new NodeReply.Yes(life(), 123));
        List<String> sent = last(LuaScript.MEMBER_READ_ACQUIRE);
        assertThat(sent.subList(0, 8))
                .containsExactly(
                        LOCK,
                        KeyLayout.fence(LOCK),
                        KeyLayout.watchers(LOCK),
                        KeyLayout.marker(""),
                        KeyLayout.readWatchers(LOCK),
                        KeyLayout.readers(LOCK),
                        KeyLayout.readersWait(LOCK),
                        owner.hex() + ":5000:host/1/x");
        assertThat(sent.get(15)).as("its place").isEqualTo("1");
        assertThat(sent.get(19)).isEqualTo("durable");
        says(LuaScript.MEMBER_READ_RELEASE, bulks("released", "woken"));
        assertThat(release(node, reads)).isEqualTo(new ReleaseReply.Released(List.of(), true));
        assertThat(last(LuaScript.MEMBER_READ_RELEASE).subList(0, 8))
                .containsExactly(
                        LOCK,
                        KeyLayout.fence(LOCK),
                        KeyLayout.watchers(LOCK),
                        KeyLayout.readWatchers(LOCK),
                        KeyLayout.readers(LOCK),
                        KeyLayout.readersWait(LOCK),
                        owner.hex(),
                        "77");
        says(LuaScript.MEMBER_READ_RELEASE, bulks("broken", "123", "k", "string"));
        assertThat(release(node, reads))
                .isInstanceOfSatisfying(
                        ReleaseReply.Failed.class,
                        failed -> assertThat(failed.error()).hasMessageContaining("k"));
    }

    @Test
    void aReaderOfAMemberTakesThePlaceOfItsWriter() throws Exception {
        says(LuaScript.MEMBER_READ_DOWNGRADE, bulks("not-ours", "123", "free", "", "-1"));
        Ballot proposed = new Ballot(request(NAME.asRead()), 5_000, 3);
        OwnerToken writer = OwnerToken.draw(runtime);
        assertThat(answer(node(settings(true)).downgrade(proposed, writer, SET)))
                .isEqualTo(new NodeReply.Held(null, false, life(), 123));
        assertThat(last(LuaScript.MEMBER_READ_DOWNGRADE))
                .containsExactly(
                        LOCK,
                        KeyLayout.fence(LOCK),
                        KeyLayout.marker(""),
                        KeyLayout.readers(LOCK),
                        owner.hex() + ":5000:host/1/x",
                        "30000",
                        "5000",
                        "5002",
                        writer.hex(),
                        "60000000",
                        Long.toString(SET.boundMicros()),
                        "set",
                        Long.toString(SET.estimateMicros()),
                        Long.toString(SET.quarantineMicros()),
                        "durable");
    }

    /** A waiter without a place comes at the time of its request; a place is the same at all members. */
    @Test
    void aWaiterStandsAtItsPlace() throws Exception {
        says(LuaScript.MEMBER_ACQUIRE, bulks("held", "123", "lock", "1:host/2/y", "900"));
        RedisNode node = node(settings(true));
        AcquireRequest waiting = request(NAME).waiting(TimeUnit.SECONDS.toNanos(10));
        for (long place : List.of(0L, 4_321L)) {
            answer(node.acquire(new Ballot(waiting, 5_000, 3, 0, place), SET));
            assertThat(last(LuaScript.MEMBER_ACQUIRE).get(15))
                    .isEqualTo(Long.toString(place == 0 ? SET.estimateMicros() : place));
        }
    }

    /** Its round must not wait for a subscription, so the next request of the client asks for wake-ups. */
    @Test
    void aMemberIsWatchedOnceTheClientListens() throws Exception {
        says(LuaScript.MEMBER_ACQUIRE, bulks("held", "123", "lock", "1:host/2/y", "900"));
        RedisNode node = node(settings(true));
        Ballot waiting = new Ballot(request(NAME).waiting(TimeUnit.SECONDS.toNanos(10)), 5_000, 3);
        answer(node.acquire(waiting, SET));
        assertThat(ran(LuaScript.MEMBER_ACQUIRE).get(0).get(13)).isEqualTo("0");
        until("it listens", () -> server.channels().size() == 1);
        until("it is watched", () -> {
            try {
                answer(node.acquire(waiting, SET));
            } catch (Exception e) {
                throw new AssertionError(e);
            }
            return last(LuaScript.MEMBER_ACQUIRE).get(13).equals("15000");
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
        assertThat(sent.subList(0, 10))
                .containsExactly(
                        LOCK,
                        KeyLayout.fence(LOCK),
                        KeyLayout.watchers(LOCK),
                        KeyLayout.readWatchers(LOCK),
                        KeyLayout.readers(LOCK),
                        KeyLayout.readersWait(LOCK),
                        owner.hex(),
                        "77",
                        "60000000",
                        "7500000");
        assertThat(sent.subList(11, 13)).containsExactly("3000000", "leave");
    }

    /** A Cluster as a member: each slot has its own life. */
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
        assertThat(answer(node().admin().forceRelease(NAME, null))).isTrue();
        assertThat(server.asked("MGET " + KeyLayout.client("host/2/y"))).isOne();
        assertThat(server.asked("PUBLISH lock:wake:abc taken " + LOCK)).isOne();
        server.says("PUBLISH", "-NOPERM no\r\n");
        assertThat(answer(node().admin().forceRelease(NAME, null))).as("untold").isTrue();
        says(LuaScript.FORCE_RELEASE, bulks("none"));
        long before = server.asked("MGET");
        assertThat(answer(node().admin().forceRelease(NAME, null))).isFalse();
        says(LuaScript.INSPECT, bulks("free"));
        says(LuaScript.FORCE_RELEASE, bulks("removed"));
        assertThat(answer(node().admin().forceRelease(NAME, null))).isTrue();
        assertThat(server.asked("MGET")).isEqualTo(before);
    }

    /** The holder changes between the reading and the forced release: the first holder has lost nothing. */
    @Test
    void onlyWhoHasLostTheLockIsToldThatItWasTaken() throws Exception {
        List<String> holders = new CopyOnWriteArrayList<>(List.of("host/2/y", "host/3/z"));
        scripts.put(
                LuaScript.INSPECT.sha1(),
                command ->
                        bulks("held", "lock", "1:" + (holders.size() > 1 ? holders.remove(0) : holders.get(0)), "900"));
        scripts.put(
                LuaScript.FORCE_RELEASE.sha1(),
                command -> bulks(command.get(command.size() - 1).equals("host/2/y") ? "none" : "removed"));
        server.says("MGET", array(List.of(bulk("lock:wake:abc\nrecord"))));
        server.says("PUBLISH", ":1\r\n");
        assertThat(answer(node().admin().forceRelease(NAME, null))).isTrue();
        assertThat(server.asked("MGET " + KeyLayout.client("host/2/y"))).isZero();
        assertThat(server.asked("MGET " + KeyLayout.client("host/3/z"))).isOne();
        assertThat(server.asked("PUBLISH lock:wake:abc taken " + LOCK)).isOne();
    }

    /** The holder changes repeatedly: in the end the lock is removed from its current holder. */
    @Test
    void aLockThatChangesHandsAllTheTimeIsTakenAllTheSame() throws Exception {
        says(LuaScript.INSPECT, bulks("held", "lock", "1:host/2/y", "900"));
        scripts.put(
                LuaScript.FORCE_RELEASE.sha1(),
                command -> bulks(command.get(command.size() - 1).isEmpty() ? "removed" : "none"));
        assertThat(answer(node().admin().forceRelease(NAME, null))).isTrue();
        assertThat(server.asked("MGET")).isZero();
        assertThat(ran(LuaScript.FORCE_RELEASE)).hasSize(6);
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
        assertThat(answer(node().admin().waiters(NAME, 5_000)))
                .containsExactly(new QueuedWaiter("host/3/z", java.time.Duration.ofSeconds(1)));
        assertThat(last(LuaScript.WAITERS))
                .containsExactly(KeyLayout.queued(LOCK), KeyLayout.behind(LOCK), KeyLayout.wanted(LOCK), "1000");
        says(LuaScript.INSPECT, bulks("free"));
        assertThat(answer(node().admin().describe(NAME))).isEmpty();
        says(LuaScript.FORCE_RELEASE, bulks("none"));
        assertThat(answer(node().admin().forceRelease(NAME, "host/3/z"))).isFalse();
        assertThat(last(LuaScript.FORCE_RELEASE).subList(6, 7)).containsExactly("host/3/z");
        assertThat(answer(node().admin().forceRelease(NAME, null))).isFalse();
        assertThat(last(LuaScript.FORCE_RELEASE).get(6)).isEmpty();
        int before = ran(LuaScript.FORCE_RELEASE).size();
        assertThat(answer(node().admin().forceRelease(NAME, ""))).isFalse();
        assertThat(ran(LuaScript.FORCE_RELEASE)).hasSize(before);
        says(LuaScript.INSPECT, "-LOADING no\r\n");
        assertThatThrownBy(() -> answer(node().admin().describe(NAME)))
                .hasCauseInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("inspect lock \"x\"");
        says(LuaScript.WAITERS, "-LOADING no\r\n");
        assertThatThrownBy(() -> answer(node().admin().waiters(NAME, 1)))
                .hasMessageContaining("list the waiters of lock");
        server.says("SCAN", "-LOADING no\r\n");
        assertThatThrownBy(() -> answer(node().admin().list("*", 1))).hasMessageContaining("list locks");
        assertThatThrownBy(() -> answer(node().operations().leaks())).hasMessageContaining("look for leaks");
    }

    @Test
    void whatNeedsAServerIsRefusedWithoutOne() throws Exception {
        RedisNode node = node();
        server.close();
        until("it is gone", () -> topology.current(LOCK) == null);
        assertThatThrownBy(() -> answer(node.admin().list("*", 1))).hasCauseInstanceOf(LockStoreException.class);
        assertThatThrownBy(() -> answer(node.operations().leaks())).hasCauseInstanceOf(LockStoreException.class);
        assertThatThrownBy(() -> answer(node.operations().diagnose())).hasCauseInstanceOf(LockStoreException.class);
        assertThat(answer(node.acquire(ballot(NAME))))
                .isInstanceOfSatisfying(
                        NodeReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT));
    }

    /** A key of Leasehold without a ttl, and a queue for a lock that stays free; the scan runs in steps. */
    @Test
    void leaksAreLookedForInSteps() throws Exception {
        runtime.hurry(TimeUnit.SECONDS.toNanos(4), TimeUnit.MILLISECONDS.toNanos(1));
        runtime.changing(delay -> delay == TimeUnit.SECONDS.toNanos(4) ? 1_000_000 : delay);
        String fence = KeyLayout.fence(LOCK);
        String queue = KeyLayout.queued(KeyLayout.standard().lock(OTHER));
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
        assertThat(seen).as("of locks, then of permits").containsExactly(500L, 1_000L, 500L, 1_000L);
        assertThat(server.asked("PTTL " + KeyLayout.marker(""))).isZero();
        assertThat(server.asked("PTTL " + LOCK)).isEqualTo(server.asked("PTTL " + fence));
    }
}
