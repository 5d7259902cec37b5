package io.leasehold.redis.node;

import static io.leasehold.redis.topology.ScriptedRedis.bulks;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.node.Ballot;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.topology.WakeUps;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.ReaderReplies;
import io.leasehold.redis.wire.ReplyDecoder;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of a client's place at a member of a set: its request, its duration, its end, and the wake-ups. */
@Tag("quick")
@Timeout(120)
final class MemberPlacesTest extends NodeExchanges {

    private static final Membership SET = new Membership("set", 1_000, 2_000, 3_000, Membership.Persistence.VOLATILE);
    private static final long RECHECK_NANOS = TimeUnit.SECONDS.toNanos(10);
    /** 3 s, and 1.2 times the 10 s. */
    private static final long PLACE_NANOS = TimeUnit.SECONDS.toNanos(15);

    private static final String HELD = bulks("held", "123", "lock", "1:host/2/y", "900");
    private static final String QUEUED = bulks("queued", "123", "lock", "1:host/2/y", "900");

    private final List<LockName> woken = new CopyOnWriteArrayList<>();
    private final List<String> started = new ArrayList<>();
    private volatile boolean live = true;
    private volatile boolean liveOnceStarted;
    private MemberVerbs member;
    private final OwnerToken other = OwnerToken.draw(runtime);

    @BeforeEach
    void member() {
        WakeUps wakeUps = new WakeUps() {
            @Override
            public String channel(String lockKey) {
                return "channel";
            }

            @Override
            public boolean isLive(String lockKey) {
                return live;
            }

            @Override
            public CompletableFuture<Boolean> started(String lockKey) {
                started.add(lockKey);
                live = liveOnceStarted;
                return new CompletableFuture<>();
            }

            @Override
            public void onResubscribed(Runnable listener) {}

            @Override
            public void close() {}
        };
        Requests requests = new Requests(topology, where.errors(), runtime);
        NodeSettings settings = settings(true);
        ReplyDecoder decoder = new ReplyDecoder(where.errors());
        member = new MemberVerbs(
                requests,
                new WaitAcks(requests, where.errors(), settings),
                decoder,
                new ReaderReplies(decoder, where.errors()),
                settings,
                topology,
                wakeUps,
                runtime,
                woken::add);
        says(LuaScript.MEMBER_RELEASE, bulks("released"));
    }

    private NodeReply asks(OwnerToken by, String answer) throws Exception {
        says(LuaScript.MEMBER_ACQUIRE, answer);
        return asks(request(by).waiting(RECHECK_NANOS));
    }

    private NodeReply asks(AcquireRequest request) throws Exception {
        return answer(member.acquire(new Ballot(request, 5_000, 3), SET));
    }

    private AcquireRequest request(OwnerToken by) {
        return AcquireRequest.exclusive(List.of(NAME), by, "host/1/x", TimeUnit.SECONDS.toNanos(30), LIMIT_NANOS);
    }

    private ReleaseReply ends(OwnerToken by, ReleaseRequest.Kind kind) throws Exception {
        return answer(member.release(new ReleaseRequest(List.of(NAME), by, 77, kind, LIMIT_NANOS)));
    }

    /**
     * The message to the member when another owner token of this client ends: whether the client stays in the queue.
     */
    private String placeIsKept() throws Exception {
        ends(OwnerToken.draw(runtime), ReleaseRequest.Kind.RELEASE);
        return last(LuaScript.MEMBER_RELEASE).get(12);
    }

    // ---- the place

    @Test
    void onlyWhoWaitsHasAPlace() throws Exception {
        assertThat(asks(owner, QUEUED)).isInstanceOf(NodeReply.Held.class);
        assertThat(placeIsKept()).isEqualTo("stay");
        ends(owner, ReleaseRequest.Kind.RELEASE);
        assertThat(last(LuaScript.MEMBER_RELEASE).get(12))
                .as("the last has left")
                .isEqualTo("leave");
        assertThat(placeIsKept()).isEqualTo("leave");
        assertThat(asks(request(owner))).isInstanceOf(NodeReply.Held.class);
        assertThat(placeIsKept()).as("it does not wait").isEqualTo("leave");
    }

    @Test
    void aPlaceLastsUntilTheNextQuestionIsDue() throws Exception {
        asks(owner, QUEUED);
        runtime.passes(PLACE_NANOS - TimeUnit.SECONDS.toNanos(10));
        assertThat(placeIsKept()).isEqualTo("stay");
        runtime.passes(TimeUnit.SECONDS.toNanos(10));
        assertThat(placeIsKept()).isEqualTo("leave");
    }

    @Test
    void whoHasTheLockHasLeftItsPlace() throws Exception {
        asks(owner, QUEUED);
        assertThat(asks(owner, bulks("yes", "123"))).isInstanceOf(NodeReply.Yes.class);
        assertThat(placeIsKept()).isEqualTo("leave");
    }

    /** It was not watched: no message comes for it. */
    @Test
    void whoWasNotQueuedHasNoPlace() throws Exception {
        for (String answer : List.of(HELD, "-LOADING no\r\n", bulks("stale", "123", "9"))) {
            asks(owner, answer);
            assertThat(placeIsKept()).as(answer).isEqualTo("leave");
        }
    }

    /** Its place may have been taken all the same: it leaves when the attempt is over. */
    @Test
    void whoWasNotAnsweredMayHaveAPlace() throws Exception {
        assertThat(asks(owner, bulks("maybe", "123")))
                .isInstanceOfSatisfying(
                        NodeReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN));
        assertThat(placeIsKept()).isEqualTo("stay");
    }

    /** As where another member's answer was the later one: it is still watched where it was. */
    @Test
    void whoAsksOnceMoreKeepsWhatItHas() throws Exception {
        asks(owner, QUEUED);
        asks(owner, HELD);
        assertThat(placeIsKept()).isEqualTo("stay");
        asks(owner, "-LOADING no\r\n");
        assertThat(placeIsKept()).isEqualTo("stay");
    }

    // ---- an owner token ends

    @Test
    void anAttemptThatGoesOnKeepsItsPlace() throws Exception {
        asks(owner, QUEUED);
        ends(owner, ReleaseRequest.Kind.SUPERSEDED);
        assertThat(last(LuaScript.MEMBER_RELEASE).get(12)).isEqualTo("stay");
        assertThat(placeIsKept()).as("its next owner token has not asked yet").isEqualTo("stay");
        asks(other, QUEUED);
        ends(other, ReleaseRequest.Kind.RELEASE);
        assertThat(last(LuaScript.MEMBER_RELEASE).get(12))
                .as("the one before it is forgotten")
                .isEqualTo("leave");
    }

    /**
     * A member does not wake the client that releases a lock, even if another of its attempts is the first in the
     * queue.
     */
    @Test
    void whoGivesALockBackWakesItsOwnClientIfNobodyElseIsWoken() throws Exception {
        ends(other, ReleaseRequest.Kind.RELEASE);
        assertThat(woken).as("no client waits").isEmpty();
        asks(owner, QUEUED);
        says(LuaScript.MEMBER_RELEASE, bulks("released", "woken"));
        ends(other, ReleaseRequest.Kind.RELEASE);
        assertThat(woken).as("another client is woken").isEmpty();
        says(LuaScript.MEMBER_RELEASE, bulks("not-ours"));
        ends(other, ReleaseRequest.Kind.RELEASE);
        assertThat(woken).as("nothing is free").isEmpty();
        says(LuaScript.MEMBER_RELEASE, bulks("released"));
        ends(other, ReleaseRequest.Kind.SUPERSEDED);
        assertThat(woken).as("it was not held").isEmpty();
        ends(other, ReleaseRequest.Kind.RELEASE);
        assertThat(woken).containsExactly(NAME);
        ends(owner, ReleaseRequest.Kind.RELEASE);
        assertThat(woken).as("no client is left").hasSize(1);
    }

    /** Those that are woken may be other readers, which share the lock with those of this client. */
    @Test
    void whoEndsAReaderWakesTheReadersOfItsOwnClient() throws Exception {
        LockName reads = NAME.asRead();
        says(LuaScript.MEMBER_READ_ACQUIRE, QUEUED);
        AcquireRequest waiting = AcquireRequest.exclusive(
                        List.of(reads), owner, "host/1/x", TimeUnit.SECONDS.toNanos(30), LIMIT_NANOS)
                .waiting(RECHECK_NANOS);
        asks(waiting);
        says(LuaScript.MEMBER_READ_RELEASE, bulks("released", "woken"));
        ReleaseRequest ends = new ReleaseRequest(List.of(reads), other, 77, ReleaseRequest.Kind.RELEASE, LIMIT_NANOS);
        answer(member.release(ends));
        assertThat(last(LuaScript.MEMBER_READ_RELEASE).get(12)).isEqualTo("stay");
        assertThat(woken).containsExactly(reads);
        assertThat(placeIsKept()).as("of a writer").isEqualTo("leave");
    }

    /** The release was called before the attempt began, but ran after its request: the member no longer watches it. */
    @Test
    void anAttemptWhosePlaceAnEarlierReleaseRemovesIsWoken() throws Exception {
        for (ReleaseRequest.Kind kind : List.of(ReleaseRequest.Kind.UNDO, ReleaseRequest.Kind.RELEASE)) {
            woken.clear();
            asks(owner, QUEUED);
            List<CompletableFuture<NodeReply>> next = new CopyOnWriteArrayList<>();
            scripts.put(LuaScript.MEMBER_RELEASE.sha1(), command -> {
                next.add(member.acquire(new Ballot(request(other).waiting(RECHECK_NANOS), 5_000, 3), SET));
                return bulks("not-ours");
            });
            ends(owner, kind);
            assertThat(last(LuaScript.MEMBER_RELEASE).get(12)).isEqualTo("leave");
            assertThat(woken).as(kind.toString()).containsExactly(NAME);
            assertThat(answer(next.get(0))).isInstanceOf(NodeReply.Held.class);
            says(LuaScript.MEMBER_RELEASE, bulks("not-ours"));
            ends(other, kind);
        }
    }

    // ---- a client that does not listen yet

    @Test
    void whoListensIsWatchedWithTheFirstQuestion() throws Exception {
        asks(owner, QUEUED);
        assertThat(ran(LuaScript.MEMBER_ACQUIRE)).hasSize(1);
        assertThat(last(LuaScript.MEMBER_ACQUIRE).get(13)).isEqualTo("15000");
        assertThat(started).isEmpty();
    }

    @Test
    void whoDoesNotListenYetBeginsToAndIsAskedForOnceMoreIfItListensThen() throws Exception {
        live = false;
        assertThat(asks(owner, HELD)).isInstanceOf(NodeReply.Held.class);
        assertThat(ran(LuaScript.MEMBER_ACQUIRE)).as("it would not hear").hasSize(1);
        assertThat(started).containsExactly(LOCK);
        liveOnceStarted = true;
        assertThat(asks(owner, HELD)).isInstanceOf(NodeReply.Held.class);
        assertThat(ran(LuaScript.MEMBER_ACQUIRE)).hasSize(3);
        assertThat(ran(LuaScript.MEMBER_ACQUIRE).get(1).get(13)).isEqualTo("0");
        assertThat(last(LuaScript.MEMBER_ACQUIRE).get(13)).isEqualTo("15000");
    }

    @Test
    void onlyALockThatIsHeldIsListenedFor() throws Exception {
        live = false;
        liveOnceStarted = true;
        assertThat(asks(owner, bulks("yes", "123"))).isEqualTo(new NodeReply.Yes(life(), 123));
        assertThat(asks(owner, bulks("stale", "123", "9"))).isEqualTo(new NodeReply.Stale(9, life(), 123));
        assertThat(started).isEmpty();
    }

    /** The second request has the rest of the first one's time. */
    @Test
    void nothingIsAskedAfterTheTimeLimit() throws Exception {
        live = false;
        liveOnceStarted = true;
        for (long spentNanos : new long[] {LIMIT_NANOS, LIMIT_NANOS + 1, LIMIT_NANOS / 2}) {
            live = false;
            ran.clear();
            CompletableFuture<Void> sent = new CompletableFuture<>();
            scripts.put(LuaScript.MEMBER_ACQUIRE.sha1(), command -> {
                if (ran(LuaScript.MEMBER_ACQUIRE).size() == 1) {
                    sent.join();
                    runtime.passes(spentNanos);
                }
                return HELD;
            });
            int before = runtime.delays().size();
            CompletableFuture<NodeReply> asked =
                    member.acquire(new Ballot(request(owner).waiting(RECHECK_NANOS), 5_000, 3), SET);
            sent.complete(null);
            assertThat(answer(asked)).isInstanceOf(NodeReply.Held.class);
            assertThat(ran(LuaScript.MEMBER_ACQUIRE)).hasSize(spentNanos < LIMIT_NANOS ? 2 : 1);
            List<Long> limits =
                    runtime.delays().subList(before, runtime.delays().size());
            assertThat(limits).hasSameSizeAs(ran(LuaScript.MEMBER_ACQUIRE)).allMatch(limit -> limit <= LIMIT_NANOS);
            if (spentNanos < LIMIT_NANOS) {
                assertThat(limits.get(1)).isLessThanOrEqualTo(LIMIT_NANOS / 2);
            }
        }
    }
}
