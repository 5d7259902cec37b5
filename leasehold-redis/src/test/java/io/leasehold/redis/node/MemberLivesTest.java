package io.leasehold.redis.node;

import static io.leasehold.redis.topology.ScriptedRedis.bulk;
import static io.leasehold.redis.topology.ScriptedRedis.bulks;
import static io.leasehold.redis.topology.ScriptedRedis.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.node.Ballot;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.topology.ScriptedRedis;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LifeCheck;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.StoreSignals;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of a member's requests in the common case: they have the run id of the connection on which they are sent, and
 * the whole script follows only if the first answer is not sufficient.
 */
@Tag("quick")
@Timeout(120)
final class MemberLivesTest extends NodeExchanges {

    private static final Membership SET = membership("set", Membership.Persistence.VOLATILE);
    private static final String YES = "*3\r\n$2\r\n17\r\n$1\r\n5\r\n:1\r\n";

    private static Membership membership(String configuration, Membership.Persistence persistence) {
        return new Membership(configuration, 9_000, 2_000, 3_000, persistence);
    }

    private RedisNode member() throws Exception {
        answer(topology.current(LOCK).isDirect());
        return node(settings(true));
    }

    private CompletableFuture<NodeReply> ask(RedisNode member, LockName name) {
        return ask(member, name, SET);
    }

    private CompletableFuture<NodeReply> ask(RedisNode member, LockName name, Membership set) {
        return member.acquire(new Ballot(request(name), 5_000, 1), set);
    }

    private String lifeAsked() {
        return last(LuaScript.MEMBER_ACQUIRE_MANY).get(6);
    }

    /** Restarts the server: its connections end, and it reports another run id on new ones. */
    private void restart(String runId) throws Exception {
        server.says(
                "INFO", bulk("run_id:" + runId + "\r\nredis_version:7.0.9\r\nrole:master\r\ncluster_enabled:0\r\n"));
        server.endOthers();
        until(
                "it is connected again",
                () -> topology.current(LOCK) != null
                        && topology.current(LOCK).incarnation().equals(new Incarnation(runId)));
        answer(topology.current(LOCK).isDirect());
    }

    // ---- the common case

    @Test
    void aFreeLockIsAskedForWithWhatItNeeds() throws Exception {
        says(LuaScript.MEMBER_ACQUIRE_MANY, YES);
        assertThat(answer(ask(member(), NAME))).isEqualTo(new NodeReply.Yes(life(), 17_000_005));
        assertThat(last(LuaScript.MEMBER_ACQUIRE_MANY))
                .containsExactly(
                        KeyLayout.marker(),
                        LOCK,
                        KeyLayout.fence(LOCK),
                        KeyLayout.readersWait(LOCK),
                        "set",
                        "3000",
                        life().id(),
                        owner.hex() + ":5000:host/1/x",
                        "30000",
                        "5000",
                        "7000");
        assertThat(ran(LuaScript.MEMBER_ACQUIRE)).isEmpty();
    }

    @Test
    void aReleaseNamesTheLockAndItsWatchers() throws Exception {
        says(LuaScript.MEMBER_RELEASE_MANY, "*2\r\n" + bulk("released") + ":1\r\n");
        assertThat(release(member(), NAME)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(last(LuaScript.MEMBER_RELEASE_MANY))
                .containsExactly(LOCK, KeyLayout.watchers(LOCK), KeyLayout.readWatchers(LOCK), owner.hex() + ":77:");
        assertThat(ran(LuaScript.MEMBER_RELEASE)).isEmpty();
    }

    @Test
    void whatTheCommonCaseDoesNotDecideTheWholeScriptDoes() throws Exception {
        says(LuaScript.MEMBER_ACQUIRE, bulks("unborn", "123", "nonce"));
        assertThat(answer(ask(member(), NAME))).isEqualTo(new NodeReply.Unborn("nonce", life(), 123));
        assertThat(last(LuaScript.MEMBER_ACQUIRE).get(19)).isEqualTo(life().id());
        says(LuaScript.MEMBER_ACQUIRE, "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
        assertThat(answer(ask(member(), NAME)))
                .isInstanceOfSatisfying(
                        NodeReply.Failed.class,
                        failed -> assertThat(failed.error()).hasMessageContaining("memory"));
        says(LuaScript.MEMBER_RELEASE, bulks("not-ours"));
        assertThat(release(member(), NAME)).isInstanceOf(ReleaseReply.NotOurs.class);
    }

    @Test
    void aServerThatDoesNotKnowTheScriptGetsItsText() throws Exception {
        says(LuaScript.MEMBER_ACQUIRE_MANY, "-NOSCRIPT No matching script\r\n");
        List<String> sent = new ArrayList<>();
        server.says("EVAL", command -> {
            sent.addAll(command);
            return YES;
        });
        assertThat(answer(ask(member(), NAME))).isEqualTo(new NodeReply.Yes(life(), 17_000_005));
        assertThat(sent.get(1)).isEqualTo(LuaScript.MEMBER_ACQUIRE_MANY.text());
        assertThat(sent.get(9)).isEqualTo(life().id());
    }

    // ---- what the first answer said

    private static String heldBy(String text) {
        return "*3\r\n$2\r\n17\r\n$1\r\n5\r\n*2\r\n" + bulk(text) + ":900\r\n";
    }

    @Test
    void whoDoesNotWaitIsToldOfTheHolderAtOnce() throws Exception {
        says(LuaScript.MEMBER_ACQUIRE_MANY, heldBy("77:host/2/y"));
        assertThat(answer(ask(member(), NAME))).isInstanceOfSatisfying(NodeReply.Held.class, held -> {
            assertThat(held.holder().id()).isEqualTo("host/2/y");
            assertThat(held.queued()).isFalse();
            assertThat(held.serverMicros()).isEqualTo(17_000_005);
        });
        assertThat(ran(LuaScript.MEMBER_ACQUIRE)).as("a second look").isEmpty();
    }

    /** The answer that a lock is held does not mean that the caller will be woken. */
    @Test
    void whoWaitsIsAskedForByTheWholeScriptToo() throws Exception {
        says(LuaScript.MEMBER_ACQUIRE_MANY, heldBy("77:host/2/y"));
        says(LuaScript.MEMBER_ACQUIRE, bulks("queued", "123", "lock", "77:host/2/y", "900"));
        RedisNode member = member();
        untilItListens(member);
        AcquireRequest waits = request(OTHER).waiting(TimeUnit.SECONDS.toNanos(10));
        int before = ran(LuaScript.MEMBER_ACQUIRE_MANY).size();
        assertThat(answer(member.acquire(new Ballot(waits, 5_000, 1), SET)))
                .isInstanceOfSatisfying(
                        NodeReply.Held.class, held -> assertThat(held.queued()).isTrue());
        assertThat(ran(LuaScript.MEMBER_ACQUIRE_MANY)).hasSize(before + 1);
        assertThat(last(LuaScript.MEMBER_ACQUIRE))
                .startsWith(KeyLayout.standard().lock(OTHER));
        assertThat(last(LuaScript.MEMBER_ACQUIRE).get(13)).isEqualTo("15000");
    }

    private void untilItListens(RedisNode member) throws Exception {
        untilItListens(member, NAME);
    }

    private void untilItListens(RedisNode member, LockName name) throws Exception {
        AcquireRequest first = request(name).waiting(TimeUnit.SECONDS.toNanos(10));
        until("it is watched", () -> {
            try {
                return answer(member.acquire(new Ballot(first, 5_000, 1), SET)) instanceof NodeReply.Held held
                        && held.queued();
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        });
    }

    /** Only the whole script ends a place, and a new connection does not know that the lock was contended. */
    @Test
    void whoMayBeWatchedAsksByTheWholeScriptAlone() throws Exception {
        says(LuaScript.MEMBER_ACQUIRE_MANY, heldBy("77:host/2/y"));
        says(LuaScript.MEMBER_ACQUIRE, bulks("queued", "123", "lock", "77:host/2/y", "900"));
        RedisNode member = member();
        untilItListens(member);
        restart("next");
        int before = ran(LuaScript.MEMBER_ACQUIRE_MANY).size();
        AcquireRequest again = request(NAME).waiting(TimeUnit.SECONDS.toNanos(10));
        answer(member.acquire(new Ballot(again, 6_000, 1), SET));
        assertThat(ran(LuaScript.MEMBER_ACQUIRE_MANY)).hasSize(before);
    }

    /** The member knows only the client, which watches under any owner token with which its attempt continues. */
    @Test
    void whoGoesOnUnderAnotherOwnerTokenMayBeWatched() throws Exception {
        says(LuaScript.MEMBER_ACQUIRE_MANY, heldBy("77:host/2/y"));
        says(LuaScript.MEMBER_ACQUIRE, bulks("queued", "123", "lock", "77:host/2/y", "900"));
        says(LuaScript.MEMBER_RELEASE, bulks("not-ours"));
        RedisNode member = member();
        untilItListens(member);
        answer(member.release(
                new ReleaseRequest(List.of(NAME), owner, 77, ReleaseRequest.Kind.SUPERSEDED, LIMIT_NANOS)));
        restart("next");
        int before = ran(LuaScript.MEMBER_ACQUIRE_MANY).size();
        AcquireRequest next = AcquireRequest.exclusive(
                        List.of(NAME), OwnerToken.draw(runtime), "host/1/x", TimeUnit.SECONDS.toNanos(30), LIMIT_NANOS)
                .waiting(TimeUnit.SECONDS.toNanos(10));
        answer(member.acquire(new Ballot(next, 6_000, 1), SET));
        assertThat(ran(LuaScript.MEMBER_ACQUIRE_MANY)).hasSize(before);
    }

    /** The whole release reaches the server one round trip after the release was called, and leaves the client's place. */
    @Test
    void anAttemptThatBeginsWhileAReleaseIsOnItsWayIsWoken() throws Exception {
        says(LuaScript.MEMBER_ACQUIRE, bulks("queued", "123", "lock", "77:host/2/y", "900"));
        says(LuaScript.MEMBER_ACQUIRE_MANY, heldBy("77:host/2/y"));
        List<LockName> woken = new CopyOnWriteArrayList<>();
        RedisNode member = node(settings(true));
        member.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                woken.add(name);
            }

            @Override
            public void lost(OwnerToken lost, LossCause cause) {}

            @Override
            public void reconnected() {}
        });
        untilItListens(member);
        // A new connection does not know that the lock was contended.
        restart("next");
        // Without a subscription no attempt is woken. Another lock shows it, and says nothing of this one.
        untilItListens(member, OTHER);
        woken.clear();
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch declines = new CountDownLatch(1);
        scripts.put(LuaScript.MEMBER_RELEASE_MANY.sha1(), command -> {
            asked.countDown();
            awaiting(declines);
            return "*2\r\n" + bulk("released") + ":0\r\n";
        });
        scripts.put(LuaScript.MEMBER_RELEASE.sha1(), command -> bulks("released", "woken"));
        CompletableFuture<ReleaseReply> released =
                member.release(new ReleaseRequest(List.of(NAME), owner, 77, ReleaseRequest.Kind.RELEASE, LIMIT_NANOS));
        assertThat(asked.await(LIMIT_NANOS, TimeUnit.NANOSECONDS)).isTrue();
        AcquireRequest other = AcquireRequest.exclusive(
                        List.of(NAME), OwnerToken.draw(runtime), "host/1/x", TimeUnit.SECONDS.toNanos(30), LIMIT_NANOS)
                .waiting(TimeUnit.SECONDS.toNanos(10));
        CompletableFuture<NodeReply> queued = member.acquire(new Ballot(other, 6_000, 1), SET);
        declines.countDown();
        answer(queued);
        assertThat(answer(released)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(last(LuaScript.MEMBER_RELEASE)).contains("leave");
        assertThat(woken).contains(NAME);
    }

    /** The whole release wakes one of the waiting clients, without an earlier round trip. */
    @Test
    void aGrantOfALockThatOthersWantIsReleasedByTheWholeScriptAlone() throws Exception {
        says(LuaScript.MEMBER_ACQUIRE, bulks("yes", "123"));
        says(LuaScript.MEMBER_RELEASE, bulks("released", "woken"));
        says(LuaScript.MEMBER_RELEASE_MANY, "*2\r\n" + bulk("released") + ":1\r\n");
        RedisNode member = member();
        answer(ask(member, NAME));
        release(member, NAME);
        assertThat(ran(LuaScript.MEMBER_RELEASE_MANY)).isEmpty();
        says(LuaScript.MEMBER_ACQUIRE, bulks("17", "5"));
        answer(ask(member, NAME));
        release(member, NAME);
        assertThat(ran(LuaScript.MEMBER_RELEASE_MANY)).hasSize(1);
        assertThat(ran(LuaScript.MEMBER_RELEASE)).hasSize(1);
    }

    // ---- the run id of the connection

    @Test
    void afterAReconnectTheRunIdIsThatOfTheNewConnection() throws Exception {
        says(LuaScript.MEMBER_ACQUIRE_MANY, YES);
        RedisNode member = member();
        answer(ask(member, NAME));
        assertThat(lifeAsked()).isEqualTo(life().id());
        restart("next");
        assertThat(answer(ask(member, NAME))).isEqualTo(new NodeReply.Yes(new Incarnation("next"), 17_000_005));
        assertThat(lifeAsked()).isEqualTo("next");
    }

    /**
     * The bytes are made for one connection; a request that does not reach its server fails, and is sent on no other
     * connection.
     */
    @Test
    void aRequestThatIsLostWithItsConnectionIsNotSentOnTheNext() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        scripts.put(LuaScript.MEMBER_ACQUIRE_MANY.sha1(), command -> {
            asked.countDown();
            return ScriptedRedis.END;
        });
        RedisNode member = member();
        CompletableFuture<NodeReply> lost = ask(member, NAME);
        assertThat(asked.await(LIMIT_NANOS, TimeUnit.NANOSECONDS)).isTrue();
        assertThat(answer(lost))
                .isInstanceOfSatisfying(
                        NodeReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN));
        restart("next");
        assertThat(ran(LuaScript.MEMBER_ACQUIRE_MANY)).hasSize(1);
    }

    /** A peer that is not proved to be the server itself may be a proxy, at the same port or at another. */
    @Test
    void whereAProxyIsPossibleTheScriptReadsTheRunId() throws Exception {
        says(LuaScript.MEMBER_ACQUIRE_MANY, YES);
        String here = "127.0.0.1:" + server.port();
        for (String said : List.of(
                bulk("id=1 addr=127.0.0.1:1 laddr=" + here + " fd=8\n"),
                bulk("id=1 addr=" + here + " laddr=" + here + "\n"),
                bulk("id=1 addr=127.0.0.1:1"),
                bulk("id=1 laddr=" + here),
                bulk("id=1 addr=here:1 laddr=" + here),
                bulk("id=1 addr=999.0.0.1:1 laddr=" + here),
                bulk("id=1 addr=127.0.0.1:99999 laddr=" + here),
                bulk("id=1 addr=/var/run/redis:0 laddr=/var/run/redis:0"),
                "-NOPERM this user has no permissions to run the 'client|info' command\r\n",
                "+OK\r\n",
                ":1\r\n")) {
            server.says("CLIENT INFO", said);
            String next = "next" + ran(LuaScript.MEMBER_ACQUIRE_MANY).size();
            restart(next);
            answer(ask(member(), NAME));
            assertThat(lifeAsked()).as(said).isEqualTo("volatile");
            answer(ask(node(settings(true).checking(LifeCheck.CONNECTION)), NAME));
            assertThat(lifeAsked()).as("proxy=false").isEqualTo(next);
        }
    }

    /** The proof may arrive late or never: until then the script reads the run id. */
    @Test
    void beforeTheProofTheScriptReadsTheRunId() throws Exception {
        says(LuaScript.MEMBER_ACQUIRE_MANY, YES);
        answer(ask(node(settings(true)), NAME));
        assertThat(lifeAsked()).isEqualTo("volatile");
        answer(ask(member(), NAME));
        assertThat(lifeAsked()).isEqualTo(life().id());
    }

    @Test
    void whereAProxyIsDeclaredTheScriptReadsTheRunId() throws Exception {
        says(LuaScript.MEMBER_ACQUIRE_MANY, YES);
        answer(ask(node(settings(true).checking(LifeCheck.INFO)), NAME));
        assertThat(lifeAsked()).isEqualTo("volatile");
        answer(ask(member(), NAME, membership("set", Membership.Persistence.DURABLE)));
        assertThat(lifeAsked()).isEqualTo("durable");
    }

    // ---- several callers

    /** The first request occupies the connection's thread, so that the others are ready when the next is written. */
    private List<CompletableFuture<NodeReply>> together(RedisNode member, LockName[] names, Membership... sets)
            throws Exception {
        CountDownLatch listening = new CountDownLatch(1);
        CountDownLatch occupied = new CountDownLatch(1);
        CountDownLatch ready = new CountDownLatch(1);
        scripts.put(LuaScript.MEMBER_ACQUIRE.sha1(), command -> {
            awaiting(listening);
            return bulks("stale", "123", "9");
        });
        CompletableFuture<Void> first = member.acquire(new Ballot(request(LockName.of("first")), 5_000, 2), SET)
                .thenAccept(reply -> {
                    occupied.countDown();
                    awaiting(ready);
                });
        listening.countDown();
        assertThat(occupied.await(LIMIT_NANOS, TimeUnit.NANOSECONDS)).isTrue();
        List<CompletableFuture<NodeReply>> all = new ArrayList<>();
        for (int i = 0; i < names.length; i++) {
            all.add(ask(member, names[i], sets[i % sets.length]));
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

    private static final LockName[] THREE = {NAME, OTHER, LockName.of("third")};

    @Test
    void severalCallsShareTheMarkerAndEachHearsItsOwnAnswer() throws Exception {
        scripts.put(
                LuaScript.MEMBER_ACQUIRE_MANY.sha1(),
                command -> "*5\r\n$2\r\n17\r\n$1\r\n5\r\n:1\r\n*2\r\n" + bulk("77:host/2/y") + ":900\r\n:0\r\n");
        List<CompletableFuture<NodeReply>> all = together(member(), THREE, SET);
        assertThat(answer(all.get(0))).isEqualTo(new NodeReply.Yes(life(), 17_000_005));
        assertThat(answer(all.get(1)))
                .isInstanceOfSatisfying(
                        NodeReply.Held.class,
                        held -> assertThat(held.holder().id()).isEqualTo("host/2/y"));
        assertThat(answer(all.get(2))).as("requested alone").isEqualTo(new NodeReply.Stale(9, life(), 123));
        assertThat(ran(LuaScript.MEMBER_ACQUIRE_MANY)).hasSize(1);
        List<String> sent = last(LuaScript.MEMBER_ACQUIRE_MANY);
        assertThat(sent).hasSize(1 + 3 * 3 + 3 + 3 * 4).startsWith(KeyLayout.marker(), LOCK);
        assertThat(sent.subList(10, 13)).containsExactly("set", "3000", life().id());
        assertThat(last(LuaScript.MEMBER_ACQUIRE))
                .startsWith(KeyLayout.standard().lock(THREE[2]));
    }

    @Test
    void callsOfDifferentSetsLeaveApart() throws Exception {
        says(LuaScript.MEMBER_ACQUIRE_MANY, YES);
        for (CompletableFuture<NodeReply> each :
                together(member(), THREE, SET, membership("other", Membership.Persistence.VOLATILE))) {
            assertThat(answer(each)).isEqualTo(new NodeReply.Yes(life(), 17_000_005));
        }
        assertThat(ran(LuaScript.MEMBER_ACQUIRE_MANY))
                .extracting(sent -> sent.get(4))
                .containsExactlyInAnyOrder("set", "other", "set");
    }

    /** An answer that is too short decides nothing. */
    @Test
    void anAnswerOfNoUseIsFollowedByTheWholeScript() throws Exception {
        says(LuaScript.MEMBER_ACQUIRE_MANY, "*1\r\n:1\r\n");
        says(LuaScript.MEMBER_ACQUIRE, bulks("stale", "123", "9"));
        assertThat(answer(ask(member(), NAME))).isEqualTo(new NodeReply.Stale(9, life(), 123));
    }

    @Test
    void whatIsRefusedToOneCallAloneIsItsAnswer() throws Exception {
        says(LuaScript.MEMBER_ACQUIRE_MANY, "-LOADING Redis is loading the dataset in memory\r\n");
        assertThat(answer(ask(member(), NAME))).isInstanceOf(NodeReply.Failed.class);
        assertThat(ran(LuaScript.MEMBER_ACQUIRE)).isEmpty();
    }
}
