package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.api.LeaseKeepAliveRequest;
import io.etcd.jetcd.api.LeaseTimeToLiveRequest;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.WatchRequest;
import io.etcd.jetcd.options.LeaseOption;
import io.etcd.jetcd.options.PutOption;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.servers.EtcdServer;
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
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The lifetime of a key, the state that it leaves behind, and the answers after something else ended it. The test
 * controls the clock.
 */
@Tag("full")
class PlaceRulesTest {

    private static final Predicate<Object> EXTENDS = LeaseKeepAliveRequest.class::isInstance;

    private static final Duration TTL = Duration.ofSeconds(30);
    /** A lease of etcd that an attempt has left is revoked after this time. */
    private static final Duration LEFT_FOR = Duration.ofSeconds(11);

    private static final Duration LIMIT = Duration.ofSeconds(1);
    private static final Duration RECHECK = Duration.ofSeconds(20);
    private static final LockName LOCK = LockName.of("rule");

    private final CallFaults faults = new CallFaults();
    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final SteppedRuntime standing = new SteppedRuntime(new SystemLockRuntime());
    private final AtomicInteger wakes = new AtomicInteger();
    private final List<LossCause> losses = new CopyOnWriteArrayList<>();
    private EtcdStore store;
    private EtcdStore other;

    private static EtcdServer server;
    private static Client operator;

    @BeforeAll
    static void startServer() {
        server = EtcdTckTest.startOrSkip();
        operator =
                Client.builder().endpoints("http://127.0.0.1:" + server.port()).build();
    }

    @AfterAll
    static void stopServer() {
        if (server != null) {
            operator.close();
            server.close();
        }
    }

    @BeforeEach
    void open() {
        EtcdUri uri = EtcdUri.parse(StoreUri.parse("etcd://127.0.0.1:" + server.port() + "/rules"));
        store = new EtcdStore(uri, runtime, List.of(faults));
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
            public void reconnected() {}
        });
        other = new EtcdStore(uri, standing);
    }

    @AfterEach
    void close() {
        faults.heal();
        store.close();
        other.close();
        runtime.close();
        standing.close();
        for (KeyValue left : queue()) {
            operator.getKVClient().delete(left.getKey()).join();
        }
    }

    private OwnerToken owner() {
        return OwnerToken.draw(runtime);
    }

    private static <T> T answer(CompletableFuture<T> future) throws Exception {
        return future.get(60, TimeUnit.SECONDS);
    }

    /** Waits for less time than the lifetime of a lease that is not ended. */
    private static void until(BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start)
                    .as("not in time")
                    .isLessThan(Duration.ofSeconds(20).toNanos());
            LockSupport.parkNanos(2_000_000);
        }
    }

    private static AcquireRequest request(OwnerToken by) {
        return AcquireRequest.exclusive(List.of(LOCK), by, "tester", TTL.toNanos(), LIMIT.toNanos());
    }

    private static AcquireRequest waiting(OwnerToken by) {
        return request(by).waiting(RECHECK.toNanos());
    }

    private OwnerToken granted(EtcdStore at) throws Exception {
        OwnerToken by = owner();
        assertThat(answer(at.acquire(request(by)))).isInstanceOf(AcquireReply.Granted.class);
        return by;
    }

    private OwnerToken queued() throws Exception {
        OwnerToken by = owner();
        assertThat(answer(store.acquire(waiting(by)))).isInstanceOf(AcquireReply.Queued.class);
        return by;
    }

    private static CompletableFuture<RenewReply.Item> renew(EtcdStore at, OwnerToken by) {
        return renew(at, by, TTL);
    }

    private static CompletableFuture<RenewReply.Item> renew(EtcdStore at, OwnerToken by, Duration span) {
        RenewBatch batch = new RenewBatch(List.of(new RenewBatch.Item(LOCK, by, span.toNanos())), LIMIT.toNanos());
        return at.renew(batch).thenApply(reply -> reply.items().get(0));
    }

    private static ReleaseReply release(EtcdStore at, OwnerToken by) throws Exception {
        return answer(
                at.release(new ReleaseRequest(List.of(LOCK), by, 0, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos())));
    }

    private static List<KeyValue> queue() {
        return operator.getKVClient()
                .get(new Keys("rules").queue(LOCK), Etcd.inOrder(0, 0))
                .join()
                .getKvs();
    }

    private static boolean isThere(OwnerToken by) {
        return !operator.getKVClient()
                .get(new Keys("rules").of(LOCK, by))
                .join()
                .getKvs()
                .isEmpty();
    }

    private static boolean isKept(long lease) {
        return operator.getLeaseClient()
                        .timeToLive(lease, LeaseOption.DEFAULT)
                        .join()
                        .getTTL()
                > 0;
    }

    /** A request that puts a key, whose lease is noted. */
    private static Predicate<Object> puts(AtomicLong lease) {
        return message -> {
            if (message instanceof TxnRequest txn && txn.getSuccess(0).hasRequestPut()) {
                lease.set(txn.getSuccess(0).getRequestPut().getLease());
                return true;
            }
            return false;
        };
    }

    // ---- how long a key stays

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
        until(() -> store.attempts() == 0);
    }

    /** By a renewal, or by an attempt that asks again because it did not receive its grant. */
    @Test
    void aHoldThatIsConfirmedStaysForAnotherTtl() throws Exception {
        OwnerToken holder = granted(store);
        for (int i = 0; i < 2; i++) {
            runtime.advance(TTL.minusMillis(1));
            assertThat(answer(renew(store, holder))).isInstanceOf(RenewReply.Renewed.class);
        }
        runtime.advance(TTL.minusMillis(1));
        assertThat(answer(store.acquire(request(holder)))).isInstanceOf(AcquireReply.Granted.class);
        runtime.advance(TTL.minusMillis(1));
        assertThat(answer(renew(store, holder))).isInstanceOf(RenewReply.Renewed.class);
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
        until(() -> store.attempts() == 0);
    }

    /** Put under a longer lease by a request whose answer was lost: a shorter renewal extends that one. */
    @Test
    void theLeaseUnderWhichTheKeyIsIsExtended() throws Exception {
        OwnerToken holder = granted(store);
        long first = queue().get(0).getLease();
        faults.next(puts(new AtomicLong()), CallFaults.Fault.REPLY_LOST);
        assertThat(answer(renew(store, holder, TTL.multipliedBy(2)))).isInstanceOf(RenewReply.Failed.class);
        long now = queue().get(0).getLease();
        assertThat(now).isNotEqualTo(first);
        AtomicLong extended = noteExtensions();
        assertThat(answer(renew(store, holder))).isInstanceOf(RenewReply.Renewed.class);
        assertThat(extended).hasValue(now);
        until(() -> !isKept(first));
    }

    private AtomicLong noteExtensions() {
        AtomicLong extended = new AtomicLong();
        faults.each(
                message -> {
                    if (message instanceof LeaseKeepAliveRequest request) {
                        extended.set(request.getID());
                    }
                    return false;
                },
                CallFaults.Fault.REQUEST_LOST);
        return extended;
    }

    /** An answer about its former lease no longer matters. */
    @Test
    void aLateAnswerDoesNotBringTheFormerLeaseBack() throws Exception {
        OwnerToken holder = granted(store);
        long first = queue().get(0).getLease();
        faults.next(EXTENDS, CallFaults.Fault.REPLY_LATE);
        CompletableFuture<RenewReply.Item> early = renew(store, holder);
        until(faults::isLate);
        assertThat(answer(renew(store, holder, TTL.multipliedBy(2)))).isInstanceOf(RenewReply.Renewed.class);
        faults.deliver();
        assertThat(answer(early)).isInstanceOf(RenewReply.Renewed.class);
        long now = queue().get(0).getLease();
        assertThat(now).isNotEqualTo(first);
        AtomicLong extended = noteExtensions();
        assertThat(answer(renew(store, holder))).isInstanceOf(RenewReply.Renewed.class);
        assertThat(extended).hasValue(now);
    }

    /** The server that knows its key cannot be reached. */
    @Test
    void whoHoldsIsAtRiskWhenItsWatchIsBroken() throws Exception {
        try (TcpProxy proxy = TcpProxy.to(server.port());
                EtcdStore cut = new EtcdStore(
                        EtcdUri.parse(StoreUri.parse("etcd://127.0.0.1:" + proxy.port() + "/rules")), runtime)) {
            List<OwnerToken> suspended = new CopyOnWriteArrayList<>();
            cut.listen(new StoreSignals() {
                @Override
                public void wake(LockName name) {}

                @Override
                public void lost(OwnerToken owner, LossCause cause) {}

                @Override
                public void suspended(OwnerToken owner) {
                    suspended.add(owner);
                }

                @Override
                public void reconnected() {}
            });
            OwnerToken holder = granted(cut);
            runtime.advance(Duration.ofMillis(200));
            until(() -> OwnWatchTest.watchers(server) == 1);
            proxy.refuseConnections().resetAll();
            until(() -> suspended.contains(holder));
        }
    }

    // ---- what is left behind

    /** The driver repeats other requests by itself: a second copy of this one could come after the key was deleted. */
    @Test
    void aRequestForAKeyIsSentOnceAlsoIfItsAnswerIsLost() throws Exception {
        AtomicInteger sent = new AtomicInteger();
        Predicate<Object> puts = puts(new AtomicLong());
        faults.each(message -> puts.test(message) && sent.incrementAndGet() > 0, CallFaults.Fault.REPLY_LOST);
        OwnerToken by = owner();
        assertThat(answer(store.acquire(request(by)))).isInstanceOf(AcquireReply.Failed.class);
        LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(2));
        assertThat(sent).hasValue(1);
        faults.heal();
        assertThat(answer(store.acquire(request(by)))).isInstanceOf(AcquireReply.Granted.class);
        assertThat(release(store, by)).isInstanceOf(ReleaseReply.Released.class);
    }

    @Test
    void whatHasEndedLeavesNoTimersAndNoWatches() throws Exception {
        OwnerToken first = granted(other);
        OwnerToken left = queued();
        assertThat(answer(store.acquire(waiting(left)))).isInstanceOf(AcquireReply.Queued.class);
        until(() -> OwnWatchTest.watchers(server) == 1);
        assertThat(release(store, left)).as("it never held").isInstanceOf(ReleaseReply.NotOurs.class);
        until(() -> OwnWatchTest.watchers(server) == 0);
        runtime.advance(LEFT_FOR);
        until(() -> !runtime.isDueWithin(Duration.ofDays(2)));
        OwnerToken holder = queued();
        assertThat(release(other, first)).isInstanceOf(ReleaseReply.Released.class);
        until(() -> wakes.get() == 1);
        assertThat(answer(store.acquire(waiting(holder)))).isInstanceOf(AcquireReply.Granted.class);
        until(() -> OwnWatchTest.watchers(server) == 0);
        runtime.advance(Duration.ofMillis(200));
        until(() -> OwnWatchTest.watchers(server) == 1);
        assertThat(release(store, holder)).isInstanceOf(ReleaseReply.Released.class);
        until(() -> OwnWatchTest.watchers(server) == 0);
        runtime.advance(LEFT_FOR);
        until(() -> !runtime.isDueWithin(Duration.ofDays(2)));
        assertThat(losses).isEmpty();
        assertThat(wakes).hasValue(1);
    }

    /** Its renewals extend the lease now. */
    @Test
    void whoHoldsIsNotExtendedAsAWaiterAnyMore() throws Exception {
        OwnerToken first = granted(other);
        OwnerToken waiter = queued();
        release(other, first);
        until(() -> wakes.get() == 1);
        assertThat(answer(store.acquire(waiting(waiter)))).isInstanceOf(AcquireReply.Granted.class);
        AtomicInteger extended = new AtomicInteger();
        faults.each(message -> EXTENDS.test(message) && extended.incrementAndGet() < 0, CallFaults.Fault.REQUEST_LOST);
        runtime.advance(TTL.minusSeconds(1));
        assertThat(isThere(waiter)).isTrue();
        assertThat(extended).hasValue(0);
    }

    /** It neither received the grant nor was it woken before: its last answer is no longer valid. */
    @Test
    void aHolderThatAsksAgainIsGrantedAgain() throws Exception {
        OwnerToken first = granted(other);
        faults.next(
                message -> message instanceof WatchRequest watch && watch.hasCreateRequest(),
                CallFaults.Fault.REQUEST_HELD);
        OwnerToken waiter = queued();
        release(other, first);
        assertThat(answer(store.acquire(waiting(waiter)))).isInstanceOf(AcquireReply.Granted.class);
        runtime.advance(RECHECK);
        assertThat(answer(store.acquire(waiting(waiter)))).isInstanceOf(AcquireReply.Granted.class);
        assertThat(wakes).hasValue(0);
    }

    @Test
    void aWaiterThatWillNotWaitAnyMoreHasLeftWhenItIsTold() throws Exception {
        granted(other);
        OwnerToken waiter = queued();
        assertThat(answer(store.acquire(request(waiter)))).isInstanceOf(AcquireReply.Busy.class);
        assertThat(isThere(waiter)).isFalse();
        until(() -> store.attempts() == 0);
    }

    // ---- what something else has ended

    /** Between the request for the lease and that for the key. */
    @Test
    void aLeaseThatEndedBeforeItsKeyWasMadeIsReplaced() throws Exception {
        OwnerToken by = owner();
        AtomicLong lease = new AtomicLong();
        faults.next(puts(lease), CallFaults.Fault.REQUEST_LOST);
        assertThat(answer(store.acquire(request(by)))).isInstanceOf(AcquireReply.Failed.class);
        operator.getLeaseClient().revoke(lease.get()).join();
        assertThat(answer(store.acquire(request(by)))).isInstanceOf(AcquireReply.Granted.class);
    }

    @Test
    void aLeaseThatHasEndedNeedsNoRemoval() throws Exception {
        OwnerToken by = owner();
        AtomicLong lease = new AtomicLong();
        faults.next(puts(lease), CallFaults.Fault.REQUEST_LOST);
        assertThat(answer(store.acquire(request(by)))).isInstanceOf(AcquireReply.Failed.class);
        operator.getLeaseClient().revoke(lease.get()).join();
        assertThat(release(store, by)).isInstanceOf(ReleaseReply.NotOurs.class);
        until(() -> store.attempts() == 0);
        assertThat(runtime.isDueWithin(Duration.ofDays(2))).isFalse();
    }

    /** Then the lease with which it was to be made again has no use. */
    @Test
    void aKeyThatIsFoundUnderAnotherLeaseLeavesNoLease() throws Exception {
        OwnerToken by = owner();
        long before = operator.getLeaseClient().grant(60).join().getID();
        operator.getKVClient()
                .put(
                        new Keys("rules").of(LOCK, by),
                        Keys.bytes("tester"),
                        PutOption.builder().withLeaseId(before).build())
                .join();
        AtomicLong lease = new AtomicLong();
        Predicate<Object> noted = puts(lease);
        faults.each(noted.and(message -> false), CallFaults.Fault.REQUEST_LOST);
        assertThat(answer(store.acquire(waiting(by)))).isInstanceOf(AcquireReply.Granted.class);
        assertThat(lease.get()).isNotEqualTo(before).isNotZero();
        until(() -> !isKept(lease.get()));
        assertThat(isKept(before)).isTrue();
        assertThat(release(store, by)).isInstanceOf(ReleaseReply.Released.class);
        until(() -> !isKept(before));
    }

    /** The release came while the key was being made. */
    @Test
    void anAttemptThatWasTakenBackIsNotGranted() throws Exception {
        OwnerToken by = owner();
        faults.next(puts(new AtomicLong()), CallFaults.Fault.REPLY_LATE);
        CompletableFuture<AcquireReply> asked = store.acquire(request(by));
        until(faults::isLate);
        CompletableFuture<ReleaseReply> released =
                store.release(new ReleaseRequest(List.of(LOCK), by, 0, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos()));
        faults.deliver();
        assertThat(answer(asked))
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT));
        assertThat(answer(released)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(isThere(by)).isFalse();
    }

    @Test
    void aKeyThatWasDeletedIsNotRenewedThoughItsLeaseIs() throws Exception {
        OwnerToken holder = granted(store);
        operator.getKVClient().delete(new Keys("rules").of(LOCK, holder)).join();
        assertThat(answer(renew(store, holder))).isInstanceOf(RenewReply.NotOurs.class);
    }

    /** The key was seen a moment before it went with its lease. */
    @Test
    void aKeyWhoseLeaseIsGoneIsNotRenewedThoughItWasSeen() throws Exception {
        OwnerToken holder = granted(store);
        long lease = queue().get(0).getLease();
        faults.next(EXTENDS, CallFaults.Fault.REQUEST_HELD);
        CompletableFuture<RenewReply.Item> renewal = renew(store, holder);
        until(faults::isLate);
        LockSupport.parkNanos(Duration.ofMillis(300).toNanos());
        operator.getLeaseClient().revoke(lease).join();
        faults.deliver();
        assertThat(answer(renewal)).isInstanceOf(RenewReply.NotOurs.class);
    }

    @Test
    void aLossIsToldOnceAndLeavesNothing() throws Exception {
        OwnerToken holder = granted(store);
        long lease = queue().get(0).getLease();
        runtime.advance(Duration.ofMillis(200));
        until(() -> OwnWatchTest.watchers(server) == 1);
        operator.getKVClient().delete(new Keys("rules").of(LOCK, holder)).join();
        until(() -> losses.equals(List.of(LossCause.FORCE_RELEASED)));
        until(() -> store.attempts() == 0);
        until(() -> !isKept(lease));
        until(() -> OwnWatchTest.watchers(server) == 0);
        until(() -> !runtime.isDueWithin(Duration.ofDays(2)));
        assertThat(answer(renew(store, holder))).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(losses).hasSize(1);
    }

    /** The request for the cause is still unanswered at the release. */
    @Test
    void aLossThatAReleaseOvertakesIsNotTold() throws Exception {
        OwnerToken holder = granted(store);
        runtime.advance(Duration.ofMillis(200));
        until(() -> OwnWatchTest.watchers(server) == 1);
        faults.next(LeaseTimeToLiveRequest.class::isInstance, CallFaults.Fault.REPLY_LATE);
        operator.getKVClient().delete(new Keys("rules").of(LOCK, holder)).join();
        until(faults::isLate);
        assertThat(release(store, holder)).isInstanceOf(ReleaseReply.NotOurs.class);
        faults.deliver();
        assertThat(isThere(holder)).isFalse();
        assertThat(losses).isEmpty();
    }

    @Test
    void aLossWhoseCauseIsNotAnsweredIsThatOfTheLease() throws Exception {
        OwnerToken holder = granted(store);
        runtime.advance(Duration.ofMillis(200));
        until(() -> OwnWatchTest.watchers(server) == 1);
        faults.next(LeaseTimeToLiveRequest.class::isInstance, CallFaults.Fault.REPLY_LATE);
        operator.getKVClient().delete(new Keys("rules").of(LOCK, holder)).join();
        until(faults::isLate);
        runtime.advance(Duration.ofMillis(500));
        until(() -> losses.equals(List.of(LossCause.SESSION_LOST)));
        faults.deliver();
        until(() -> store.attempts() == 0);
        assertThat(losses).hasSize(1);
    }

    @Test
    void aLeaseThatEndedTookItsKeyWithIt() throws Exception {
        granted(store);
        runtime.advance(Duration.ofMillis(200));
        until(() -> OwnWatchTest.watchers(server) == 1);
        operator.getLeaseClient().revoke(queue().get(0).getLease()).join();
        until(() -> losses.equals(List.of(LossCause.SESSION_LOST)));
        until(() -> store.attempts() == 0);
    }

    /** One of them puts the key under a longer lease, and the other one finds it there. */
    @Test
    void twoRenewalsForLongerAtATimeAreBothTold() throws Exception {
        OwnerToken holder = granted(store);
        AtomicInteger moves = new AtomicInteger();
        Predicate<Object> puts = puts(new AtomicLong());
        faults.each(message -> puts.test(message) && moves.incrementAndGet() < 0, CallFaults.Fault.REQUEST_LOST);
        CompletableFuture<RenewReply.Item> one = renew(store, holder, TTL.multipliedBy(2));
        CompletableFuture<RenewReply.Item> another = renew(store, holder, TTL.multipliedBy(2));
        assertThat(answer(one)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(answer(another)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(moves).hasValue(1);
        assertThat(operator.getLeaseClient()
                        .timeToLive(queue().get(0).getLease(), LeaseOption.DEFAULT)
                        .join()
                        .getTTL())
                .isGreaterThan(TTL.toSeconds() + 5);
    }

    // ---- what is not answered in time

    /** It is unknown whether the request was executed: no reply says that it had no effect. */
    @Test
    void whatIsNotAnsweredInTimeMayHaveHadAnEffect() throws Exception {
        OwnerToken by = owner();
        faults.next(puts(new AtomicLong()), CallFaults.Fault.REQUEST_HELD);
        CompletableFuture<AcquireReply> asked = store.acquire(request(by));
        until(faults::isLate);
        runtime.advance(LIMIT.minusNanos(1));
        assertThat(asked).isNotDone();
        runtime.advance(Duration.ofNanos(1));
        assertThat(answer(asked)).isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN);
            assertThat(failed.error())
                    .hasMessageContaining("acquire of \"rule\"")
                    .hasMessageContaining("1000 ms");
        });
        faults.deliver();
        assertThat(answer(store.acquire(request(by)))).isInstanceOf(AcquireReply.Granted.class);
        faults.next(EXTENDS, CallFaults.Fault.REQUEST_HELD);
        CompletableFuture<RenewReply.Item> renewal = renew(store, by);
        until(faults::isLate);
        runtime.advance(LIMIT);
        assertThat(answer(renewal)).isInstanceOf(RenewReply.Failed.class);
        faults.deliver();
        faults.next(
                message ->
                        message instanceof TxnRequest txn && txn.getSuccess(0).hasRequestDeleteRange(),
                CallFaults.Fault.REQUEST_HELD);
        CompletableFuture<ReleaseReply> released =
                store.release(new ReleaseRequest(List.of(LOCK), by, 0, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos()));
        until(faults::isLate);
        runtime.advance(LIMIT);
        assertThat(answer(released))
                .isInstanceOfSatisfying(
                        ReleaseReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN));
        faults.deliver();
        until(() -> !isThere(by));
    }
}
