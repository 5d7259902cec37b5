package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.SteppedRuntime;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The lifetime of a node, the state that it leaves behind, and the answers after something else ended it. The test
 * controls the clock.
 */
@Tag("full")
class PlaceRulesTest {

    private static final Duration TTL = Duration.ofSeconds(30);
    private static final Duration LIMIT = Duration.ofSeconds(1);
    private static final Duration RECHECK = Duration.ofSeconds(20);
    private static final LockName LOCK = LockName.of("rule");
    private static final String PATH = "/tests/rule";

    @TempDir
    private Path directory;

    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final SteppedRuntime standing = new SteppedRuntime(new SystemLockRuntime());
    private final AtomicInteger wakes = new AtomicInteger();
    private final List<OwnerToken> suspended = new CopyOnWriteArrayList<>();
    private final List<LossCause> losses = new CopyOnWriteArrayList<>();
    private Member member;
    private TcpProxy proxy;
    private ZooKeeper operator;
    private ZooKeeperStore store;
    private ZooKeeperStore other;

    @BeforeEach
    void open() throws Exception {
        member = new Member(directory);
        proxy = TcpProxy.to(member.port());
        operator = new ZooKeeper("127.0.0.1:" + member.port(), 60_000, event -> {});
        String direct = member.uri("");
        store = new ZooKeeperStore(
                ZooKeeperUri.parse(StoreUri.parse(direct.replace(":" + member.port() + "/", ":" + proxy.port() + "/"))),
                runtime);
        store.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                wakes.incrementAndGet();
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {
                losses.add(cause);
            }

            @Override
            public void suspended(OwnerToken owner) {
                suspended.add(owner);
            }

            @Override
            public void reconnected() {}
        });
        other = new ZooKeeperStore(ZooKeeperUri.parse(StoreUri.parse(direct)), standing);
    }

    @AfterEach
    void close() throws Exception {
        proxy.heal();
        store.close();
        other.close();
        operator.close();
        runtime.close();
        standing.close();
        proxy.close();
        member.close();
    }

    private OwnerToken owner() {
        return OwnerToken.draw(runtime);
    }

    private static <T> T answer(CompletableFuture<T> future) throws Exception {
        return future.get(60, TimeUnit.SECONDS);
    }

    private static void until(BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start)
                    .as("not in time")
                    .isLessThan(Duration.ofSeconds(60).toNanos());
            LockSupport.parkNanos(2_000_000);
        }
    }

    private static AcquireRequest request(OwnerToken by) {
        return AcquireRequest.exclusive(List.of(LOCK), by, "tester", TTL.toNanos(), LIMIT.toNanos());
    }

    private static AcquireRequest waiting(OwnerToken by) {
        return request(by).waiting(RECHECK.toNanos());
    }

    private OwnerToken granted(ZooKeeperStore at) throws Exception {
        OwnerToken by = owner();
        assertThat(answer(at.acquire(request(by)))).isInstanceOf(AcquireReply.Granted.class);
        return by;
    }

    private OwnerToken queued() throws Exception {
        OwnerToken by = owner();
        assertThat(answer(store.acquire(waiting(by)))).isInstanceOf(AcquireReply.Queued.class);
        return by;
    }

    private RenewReply.Item renewed(OwnerToken by) throws Exception {
        RenewBatch batch = new RenewBatch(List.of(new RenewBatch.Item(LOCK, by, TTL.toNanos())), LIMIT.toNanos());
        return answer(store.renew(batch)).items().get(0);
    }

    private static CompletableFuture<ReleaseReply> releasing(ZooKeeperStore at, OwnerToken by) {
        return at.release(new ReleaseRequest(List.of(LOCK), by, 0, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos()));
    }

    private static ReleaseReply release(ZooKeeperStore at, OwnerToken by) throws Exception {
        return answer(releasing(at, by));
    }

    private List<String> queue() {
        return Znodes.inOrder(member.children(PATH));
    }

    private boolean isThere(OwnerToken by) {
        return queue().stream().anyMatch(node -> Znodes.belongsTo(node, by.publicId()));
    }

    /** Whether no work is left for places that are over. */
    private boolean isIdle() {
        return store.attempts() == 0 && !runtime.isDueWithin(Duration.ofDays(2));
    }

    // ---- how long a node stays

    /** No renewal comes, however long its request might have taken. */
    @Test
    void aHoldThatIsNotRenewedIsRemovedAfterItsTtl() throws Exception {
        OwnerToken holder = owner();
        AcquireRequest patient = AcquireRequest.exclusive(
                List.of(LOCK),
                holder,
                "tester",
                TTL.toNanos(),
                Duration.ofMinutes(10).toNanos());
        assertThat(answer(store.acquire(patient))).isInstanceOf(AcquireReply.Granted.class);
        runtime.advance(TTL.minusMillis(1));
        assertThat(isThere(holder)).isTrue();
        runtime.advance(Duration.ofMillis(1));
        until(() -> !isThere(holder));
        until(this::isIdle);
    }

    /** By a renewal, or by an attempt that asks again because it did not receive its grant. */
    @Test
    void aHoldThatIsConfirmedStaysForAnotherTtl() throws Exception {
        OwnerToken holder = granted(store);
        for (int i = 0; i < 2; i++) {
            runtime.advance(TTL.minusMillis(1));
            assertThat(renewed(holder)).isInstanceOf(RenewReply.Renewed.class);
        }
        runtime.advance(TTL.minusMillis(1));
        assertThat(answer(store.acquire(request(holder)))).isInstanceOf(AcquireReply.Granted.class);
        runtime.advance(TTL.minusMillis(1));
        assertThat(renewed(holder)).isInstanceOf(RenewReply.Renewed.class);
        runtime.advance(TTL);
        until(() -> !isThere(holder));
    }

    /** Its place is kept for the time of another request, and for a recheck that is late by half. */
    @Test
    void aWaiterThatAsksNoMoreIsForgottenAfterItsRecheck() throws Exception {
        granted(other);
        OwnerToken waiter = queued();
        Duration patience = Duration.ofSeconds(3).plus(LIMIT).plus(RECHECK).plus(RECHECK.dividedBy(2));
        runtime.advance(patience.minusMillis(1));
        assertThat(isThere(waiter)).isTrue();
        assertThat(answer(store.acquire(waiting(waiter)))).isInstanceOf(AcquireReply.Queued.class);
        runtime.advance(patience.minusMillis(1));
        assertThat(isThere(waiter)).isTrue();
        runtime.advance(Duration.ofMillis(1));
        until(() -> !isThere(waiter));
        until(this::isIdle);
    }

    // ---- what is left behind

    @Test
    void whatHasEndedLeavesNothingAndIsToldNothing() throws Exception {
        OwnerToken first = granted(other);
        OwnerToken left = queued();
        assertThat(release(store, left)).as("it never held").isInstanceOf(ReleaseReply.NotOurs.class);
        until(this::isIdle);
        OwnerToken holder = queued();
        assertThat(release(other, first)).isInstanceOf(ReleaseReply.Released.class);
        until(() -> wakes.get() == 1);
        assertThat(answer(store.acquire(waiting(holder)))).isInstanceOf(AcquireReply.Granted.class);
        assertThat(release(store, holder)).isInstanceOf(ReleaseReply.Released.class);
        until(this::isIdle);
        assertThat(wakes).hasValue(1);
        assertThat(losses).isEmpty();
        assertThat(queue()).isEmpty();
    }

    /** Its last answer is no longer valid. */
    @Test
    void aWaiterThatWasWokenIsNotAnsweredFromMemory() throws Exception {
        OwnerToken first = granted(other);
        OwnerToken waiter = queued();
        release(other, first);
        until(() -> wakes.get() == 1);
        runtime.advance(RECHECK);
        assertThat(answer(store.acquire(waiting(waiter)))).isInstanceOf(AcquireReply.Granted.class);
        runtime.advance(RECHECK);
        assertThat(answer(store.acquire(waiting(waiter))))
                .as("it did not hear of its grant")
                .isInstanceOf(AcquireReply.Granted.class);
    }

    /** No event would wake it, so each of its requests goes to the ensemble. */
    @Test
    void aWaiterWhoseWatchCouldNotBeSetIsNotAnsweredFromMemory() throws Exception {
        release(store, granted(store));
        operator.create(
                PATH + "/" + Znodes.prefixFor("stranger"),
                new byte[0],
                Collections.singletonList(new ACL(ZooDefs.Perms.DELETE, ZooDefs.Ids.ANYONE_ID_UNSAFE)),
                CreateMode.EPHEMERAL_SEQUENTIAL);
        OwnerToken waiter = owner();
        for (int i = 0; i < 2; i++) {
            assertThat(answer(store.acquire(waiting(waiter)))).isInstanceOf(AcquireReply.Failed.class);
            runtime.advance(RECHECK);
        }
        operator.delete(PATH + "/" + queue().get(0), -1);
        assertThat(answer(store.acquire(waiting(waiter)))).isInstanceOf(AcquireReply.Granted.class);
    }

    @Test
    void aWaiterThatWillNotWaitAnyMoreHasLeftWhenItIsTold() throws Exception {
        granted(other);
        OwnerToken waiter = queued();
        assertThat(answer(store.acquire(request(waiter)))).isInstanceOf(AcquireReply.Busy.class);
        assertThat(isThere(waiter)).isFalse();
        until(this::isIdle);
    }

    // ---- what something else has ended, or made

    /** The release came while the node was being made. */
    @Test
    void anAttemptThatWasTakenBackIsNotGranted() throws Exception {
        release(store, granted(store));
        OwnerToken by = owner();
        proxy.toClient().stall();
        CompletableFuture<AcquireReply> asked = store.acquire(waiting(by));
        until(() -> isThere(by));
        CompletableFuture<ReleaseReply> released = releasing(store, by);
        proxy.resume();
        assertThat(answer(asked))
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT));
        assertThat(answer(released)).isInstanceOf(ReleaseReply.NotOurs.class);
        until(() -> !isThere(by));
        until(this::isIdle);
    }

    private String madeByAnother(OwnerToken of) throws Exception {
        return operator.create(
                PATH + "/" + Znodes.prefixFor(of.publicId()),
                new byte[0],
                ZooDefs.Ids.OPEN_ACL_UNSAFE,
                CreateMode.EPHEMERAL_SEQUENTIAL);
    }

    /** It would end with that session, and not with the session whose time counts. */
    @Test
    void aNodeOfAnotherSessionIsNotTakenForOnesOwn() throws Exception {
        release(store, granted(store));
        OwnerToken by = owner();
        String before = madeByAnother(by);
        assertThat(answer(store.acquire(request(by)))).isInstanceOf(AcquireReply.Granted.class);
        assertThat(queue()).hasSize(1);
        assertThat(PATH + "/" + queue().get(0)).isNotEqualTo(before);
    }

    /** Otherwise it would wait behind itself. */
    @Test
    void aSecondNodeOfTheSameOwnerTokenIsRemoved() throws Exception {
        release(store, granted(store));
        OwnerToken by = owner();
        madeByAnother(by);
        assertThat(answer(store.acquire(waiting(by)))).isInstanceOf(AcquireReply.Granted.class);
        assertThat(queue()).hasSize(1);
        OwnerToken waiter = queued();
        madeByAnother(waiter);
        assertThat(queue()).hasSize(3);
        assertThat(answer(store.acquire(waiting(waiter)))).isInstanceOf(AcquireReply.Queued.class);
        assertThat(queue()).hasSize(2);
    }

    @Test
    void aLossIsToldOnceAndLeavesNothing() throws Exception {
        OwnerToken holder = granted(store);
        until(() -> member.watches() == 1);
        operator.delete(PATH + "/" + queue().get(0), -1);
        until(() -> losses.equals(List.of(LossCause.FORCE_RELEASED)));
        assertThat(store.attempts()).isZero();
        assertThat(renewed(holder)).isInstanceOf(RenewReply.NotOurs.class);
        runtime.advance(TTL);
        until(this::isIdle);
        assertThat(losses).hasSize(1);
    }

    /** The request for the cause is still unanswered at the release. */
    @Test
    void aLossThatAReleaseOvertakesIsNotTold() throws Exception {
        OwnerToken holder = granted(store);
        until(() -> member.watches() == 1);
        proxy.toServer().stall();
        operator.delete(PATH + "/" + queue().get(0), -1);
        until(() -> runtime.isDueWithin(Duration.ofMillis(500)));
        CompletableFuture<ReleaseReply> released = releasing(store, holder);
        proxy.resume();
        assertThat(answer(released)).isInstanceOf(ReleaseReply.NotOurs.class);
        until(this::isIdle);
        assertThat(losses).isEmpty();
    }

    /** The question whether an operator did it gets no answer any more: the session will show it. */
    @Test
    void aLossWhoseCauseIsNotAnsweredIsThatOfTheSession() throws Exception {
        granted(store);
        until(() -> member.watches() == 1);
        proxy.toServer().stall();
        operator.delete(PATH + "/" + queue().get(0), -1);
        until(() -> runtime.isDueWithin(Duration.ofMillis(500)));
        runtime.advance(Duration.ofMillis(500));
        until(() -> losses.equals(List.of(LossCause.SESSION_LOST)));
    }

    @Test
    void theEndOfASessionEndsEverythingInIt() throws Exception {
        OwnerToken holder = granted(store);
        OwnerToken waiter = queued();
        member.killSessionOf(PATH + "/" + queue().get(0));
        until(() -> losses.equals(List.of(LossCause.SESSION_LOST)));
        until(() -> wakes.get() >= 1);
        until(() -> store.attempts() == 0);
        runtime.advance(Duration.ofMinutes(1));
        until(this::isIdle);
        assertThat(losses).hasSize(1);
        assertThat(answer(store.acquire(waiting(waiter)))).isInstanceOf(AcquireReply.Granted.class);
        assertThat(renewed(holder)).isInstanceOf(RenewReply.NotOurs.class);
    }

    /** A removal has no end before that. */
    @Test
    void aRemovalEndsWithItsSession() throws Exception {
        OwnerToken holder = granted(store);
        proxy.stall();
        CompletableFuture<ReleaseReply> released = releasing(store, holder);
        member.killSessionOf(PATH + "/" + queue().get(0));
        proxy.resetAll();
        proxy.resume();
        answer(released);
        for (int i = 0; i < 3; i++) {
            until(() -> store.attempts() == 0 || runtime.isDueWithin(Duration.ofSeconds(1)));
            runtime.advance(Duration.ofSeconds(1));
        }
        until(() -> {
            runtime.advance(Duration.ofSeconds(1));
            return isIdle();
        });
        assertThat(losses).as("it was given back").isEmpty();
    }

    @Test
    void onlyWhoHoldsIsAtRiskWhenTheConnectionIsGone() throws Exception {
        OwnerToken holder = granted(store);
        queued();
        proxy.refuseConnections().resetAll();
        until(() -> !suspended.isEmpty());
        assertThat(suspended).containsExactly(holder);
    }

    @Test
    void aListIsReadAlsoAfterItsSessionHasEnded() throws Exception {
        granted(other);
        assertThat(operator.exists("/tests", false)).isNotNull();
        assertThat(answer(store.admin().list("*", 10))).hasSize(1);
        member.killSessionsButThatOf(PATH + "/" + queue().get(0));
        until(() -> member.sessions() == 1);
        until(() -> {
            try {
                return store.admin().list("*", 10).get(60, TimeUnit.SECONDS).size() == 1;
            } catch (Exception notYet) {
                return false;
            }
        });
    }

    // ---- what is not answered in time

    /** It is unknown whether the request was executed: no reply says that it had no effect. */
    @Test
    void whatIsNotAnsweredInTimeMayHaveHadAnEffect() throws Exception {
        release(store, granted(store));
        OwnerToken by = owner();
        proxy.toClient().stall();
        CompletableFuture<AcquireReply> asked = store.acquire(waiting(by));
        until(() -> isThere(by));
        runtime.advance(LIMIT.minusNanos(1));
        assertThat(asked).isNotDone();
        runtime.advance(Duration.ofNanos(1));
        assertThat(answer(asked)).isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN);
            assertThat(failed.error())
                    .hasMessageContaining("acquire of \"rule\"")
                    .hasMessageContaining("1000 ms");
        });
        proxy.resume();
        assertThat(answer(store.acquire(waiting(by)))).isInstanceOf(AcquireReply.Granted.class);
        proxy.toServer().stall();
        CompletableFuture<RenewReply> renewal =
                store.renew(new RenewBatch(List.of(new RenewBatch.Item(LOCK, by, TTL.toNanos())), LIMIT.toNanos()));
        CompletableFuture<ReleaseReply> released = releasing(store, by);
        runtime.advance(LIMIT);
        assertThat(answer(renewal).items().get(0)).isInstanceOf(RenewReply.Failed.class);
        assertThat(answer(released))
                .isInstanceOfSatisfying(
                        ReleaseReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN));
        proxy.resume();
        until(() -> !isThere(by));
        until(this::isIdle);
    }
}
