package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.api.LeaseKeepAliveRequest;
import io.etcd.jetcd.api.LeaseRevokeRequest;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.WatchRequest;
import io.etcd.jetcd.options.LeaseOption;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.MethodDescriptor;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.StoreUnavailableException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.servers.EtcdServer;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.SteppedRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The duties that the store repeats when they fail, and the events that it must not miss between two requests. */
@Tag("full")
class EtcdDutiesTest {

    private static final Predicate<Object> EXTENDS = LeaseKeepAliveRequest.class::isInstance;
    private static final Predicate<Object> REVOKES = LeaseRevokeRequest.class::isInstance;

    private static final Duration TTL = Duration.ofSeconds(30);
    /** The time for which etcd keeps the key: an election timeout longer. */
    private static final Duration LEASE = TTL.plusSeconds(1);

    private static final LockName LOCK = LockName.of("duty");

    private final CallFaults faults = new CallFaults();
    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final SteppedRuntime standing = new SteppedRuntime(new SystemLockRuntime());
    private final Ear ear = new Ear();
    private final List<AutoCloseable> open = new ArrayList<>();
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

    @AfterEach
    void close() throws Exception {
        for (AutoCloseable one : open) {
            one.close();
        }
        runtime.close();
        standing.close();
        for (KeyValue left : queue()) {
            operator.getKVClient().delete(left.getKey()).join();
        }
    }

    private static final class Ear implements StoreSignals {
        private final AtomicInteger wakes = new AtomicInteger();
        private final CompletableFuture<LossCause> lost = new CompletableFuture<>();

        @Override
        public void wake(LockName name) {
            wakes.incrementAndGet();
        }

        @Override
        public void lost(OwnerToken owner, LossCause cause) {
            lost.complete(cause);
        }

        @Override
        public void reconnected() {}
    }

    private static EtcdUri uri(int port) {
        return EtcdUri.parse(StoreUri.parse("etcd://127.0.0.1:" + port + "/duties"));
    }

    private EtcdStore store(int port, LockRuntime in, ClientInterceptor... interceptors) {
        EtcdStore store = new EtcdStore(uri(port), in, List.of(interceptors));
        store.listen(ear);
        open.add(store);
        return store;
    }

    private EtcdStore store() {
        return store(server.port(), runtime, faults);
    }

    private static boolean watches(Object message) {
        return message instanceof WatchRequest watch && watch.hasCreateRequest();
    }

    private static boolean writes(Object message) {
        return message instanceof TxnRequest txn
                && txn.getSuccessList().stream().anyMatch(one -> one.hasRequestPut());
    }

    private static boolean deletes(Object message) {
        return message instanceof TxnRequest txn
                && txn.getSuccessList().stream().anyMatch(one -> one.hasRequestDeleteRange());
    }

    /** Another client, whose clock stands, holds the lock: its hold does not end by itself. */
    private OwnerToken heldByAnother() throws Exception {
        other = new EtcdStore(uri(server.port()), standing);
        open.add(0, other);
        OwnerToken first = owner();
        granted(other, first);
        return first;
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
                    .isLessThan(Duration.ofSeconds(30).toNanos());
            LockSupport.parkNanos(2_000_000);
        }
    }

    private static AcquireRequest request(OwnerToken by) {
        return AcquireRequest.exclusive(
                List.of(LOCK),
                by,
                "tester",
                TTL.toNanos(),
                Duration.ofMinutes(10).toNanos());
    }

    private static AcquireRequest waiting(OwnerToken by) {
        return request(by).waiting(Duration.ofMinutes(2).toNanos());
    }

    private static void granted(EtcdStore at, OwnerToken by) throws Exception {
        assertThat(answer(at.acquire(request(by)))).isInstanceOf(AcquireReply.Granted.class);
    }

    private static void queued(EtcdStore at, OwnerToken by) throws Exception {
        assertThat(answer(at.acquire(waiting(by)))).isInstanceOf(AcquireReply.Queued.class);
    }

    private static RenewReply.Item renew(EtcdStore at, OwnerToken by) throws Exception {
        RenewBatch batch = new RenewBatch(
                List.of(new RenewBatch.Item(LOCK, by, TTL.toNanos())),
                Duration.ofMinutes(10).toNanos());
        return answer(at.renew(batch)).items().get(0);
    }

    private static ReleaseReply release(EtcdStore at, OwnerToken by) throws Exception {
        return answer(at.release(new ReleaseRequest(
                List.of(LOCK),
                by,
                0,
                ReleaseRequest.Kind.RELEASE,
                Duration.ofMinutes(10).toNanos())));
    }

    private static List<KeyValue> queue() {
        return operator.getKVClient()
                .get(new Keys("duties").queue(LOCK), Etcd.inOrder(0, 0))
                .join()
                .getKvs();
    }

    private static Optional<KeyValue> key(OwnerToken of) {
        ByteSequence key = new Keys("duties").of(LOCK, of);
        return operator.getKVClient().get(key).join().getKvs().stream().findFirst();
    }

    private static long ttlOf(long lease) {
        return operator.getLeaseClient()
                .timeToLive(lease, LeaseOption.DEFAULT)
                .join()
                .getTTL();
    }

    // ---- keeping the lease of a waiter

    @ParameterizedTest
    @ValueSource(ints = {1, 5})
    void aWaiterKeepsItsLeaseAlthoughExtendingItFailed(int times) throws Exception {
        EtcdStore store = store();
        heldByAnother();
        OwnerToken waiter = owner();
        queued(store, waiter);
        for (int i = 0; i < times; i++) {
            faults.next(EXTENDS, CallFaults.Fault.REQUEST_LOST);
            until(() -> runtime.isDueWithin(LEASE.dividedBy(3)));
            runtime.advance(LEASE.dividedBy(3));
            until(faults::happened);
        }
        for (int i = 0; i < 2; i++) {
            faults.next(EXTENDS, CallFaults.Fault.REPLY_LATE);
            until(() -> runtime.isDueWithin(LEASE.dividedBy(3)));
            runtime.advance(LEASE.dividedBy(3));
            until(faults::isLate);
            faults.deliver();
        }
        assertThat(ear.wakes).as("times that it had to ask anew").hasValue(0);
        assertThat(queue()).hasSize(2);
    }

    @Test
    void aWaiterWhoseLeaseIsGoneIsToldToAskAnew() throws Exception {
        EtcdStore store = store();
        heldByAnother();
        OwnerToken waiter = owner();
        queued(store, waiter);
        operator.getLeaseClient().revoke(key(waiter).orElseThrow().getLease()).join();
        runtime.advance(LEASE.dividedBy(3));
        until(() -> ear.wakes.get() == 1);
        queued(store, waiter);
        assertThat(key(waiter)).isPresent();
        // It keeps the new lease, too.
        faults.next(EXTENDS, CallFaults.Fault.REPLY_LATE);
        until(() -> runtime.isDueWithin(LEASE.dividedBy(3)));
        runtime.advance(LEASE.dividedBy(3));
        until(faults::isLate);
        faults.deliver();
    }

    /** After a sleep of the machine, the waiter asks at once, before its first heartbeat. */
    @Test
    void aWaiterWhoseLeaseMayHaveEndedMeanwhileAsksAnew() throws Exception {
        SteppedRuntime sleeping = new SteppedRuntime(new SystemLockRuntime());
        EtcdStore store = store(server.port(), sleeping, faults);
        heldByAnother();
        OwnerToken waiter = owner();
        queued(store, waiter);
        operator.getLeaseClient().revoke(key(waiter).orElseThrow().getLease()).join();
        sleeping.sleep(Duration.ofMinutes(2));
        queued(store, waiter);
        assertThat(key(waiter)).isPresent();
        sleeping.close();
    }

    // ---- watching

    /** The release is the next event after the queue was read. */
    @Test
    void aReleaseBetweenTheLookAndTheWatchIsNotMissed() throws Exception {
        EtcdStore store = store();
        OwnerToken first = heldByAnother();
        OwnerToken waiter = owner();
        faults.next(EtcdDutiesTest::watches, CallFaults.Fault.REQUEST_HELD);
        queued(store, waiter);
        until(faults::isLate);
        operator.getKVClient().delete(key(first).orElseThrow().getKey()).join();
        faults.deliver();
        until(() -> ear.wakes.get() > 0);
        assertThat(answer(store.acquire(waiting(waiter)))).isInstanceOf(AcquireReply.Granted.class);
    }

    @Test
    void aReleaseByForceBetweenTheGrantAndTheWatchIsNotMissed() throws Exception {
        EtcdStore store = store();
        OwnerToken holder = owner();
        granted(store, holder);
        faults.next(EtcdDutiesTest::watches, CallFaults.Fault.REQUEST_HELD);
        runtime.advance(Duration.ofSeconds(1));
        until(faults::isLate);
        operator.getKVClient().delete(key(holder).orElseThrow().getKey()).join();
        faults.deliver();
        assertThat(ear.lost.get(30, TimeUnit.SECONDS)).isEqualTo(LossCause.FORCE_RELEASED);
        until(() -> store.attempts() == 0);
    }

    /** Breaks the connection while the cluster forgets its history; returns the revision up to which it does. */
    private static long forgetHistoryOf(TcpProxy proxy) {
        proxy.refuseConnections().resetAll();
        long revision = 0;
        for (int i = 0; i < 3; i++) {
            revision = operator.getKVClient()
                    .put(Keys.bytes("other"), Keys.bytes("value"))
                    .join()
                    .getHeader()
                    .getRevision();
        }
        operator.getKVClient().compact(revision).join();
        proxy.acceptConnections();
        return revision;
    }

    @Test
    void aWatchOfOnesOwnKeyThatHasEndedIsMadeAgain() throws Exception {
        TcpProxy proxy = TcpProxy.to(server.port());
        EtcdStore store = store(proxy.port(), runtime, faults);
        open.add(proxy);
        OwnerToken holder = owner();
        AtomicLong watchedFrom = new AtomicLong();
        faults.each(
                message -> {
                    if (watches(message)) {
                        watchedFrom.set(
                                ((WatchRequest) message).getCreateRequest().getStartRevision());
                    }
                    return false;
                },
                CallFaults.Fault.REQUEST_LOST);
        granted(store, holder);
        runtime.advance(Duration.ofSeconds(1));
        until(() -> watchedFrom.get() > 0);
        long forgotten = forgetHistoryOf(proxy);
        until(() -> {
            renewedOrNot(store, holder);
            return watchedFrom.get() > forgotten;
        });
        operator.getKVClient().delete(key(holder).orElseThrow().getKey()).join();
        assertThat(ear.lost.get(30, TimeUnit.SECONDS)).isEqualTo(LossCause.FORCE_RELEASED);
    }

    private static void renewedOrNot(EtcdStore store, OwnerToken holder) {
        try {
            assertThat(renew(store, holder)).isNotInstanceOf(RenewReply.NotOurs.class);
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aWaiterWhoseWatchHasEndedAsksAnew() throws Exception {
        TcpProxy proxy = TcpProxy.to(server.port());
        EtcdStore store = store(proxy.port(), runtime);
        open.add(proxy);
        OwnerToken first = heldByAnother();
        OwnerToken waiter = owner();
        queued(store, waiter);
        until(() -> OwnWatchTest.watchers(server) > 0);
        proxy.refuseConnections().resetAll();
        release(other, first);
        forgetHistoryOf(proxy);
        until(() -> ear.wakes.get() > 0);
        AtomicBoolean granted = new AtomicBoolean();
        until(() -> {
            try {
                granted.set(answer(store.acquire(waiting(waiter))) instanceof AcquireReply.Granted);
                return granted.get();
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        });
    }

    @Test
    void aWatchThatCannotBeMadeIsMadeByTheNextRequest() throws Exception {
        AtomicBoolean refuses = new AtomicBoolean();
        EtcdStore store = store(server.port(), runtime, new ClientInterceptor() {
            @Override
            public <Q, A> ClientCall<Q, A> interceptCall(
                    MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
                if (method.getFullMethodName().endsWith("/Watch") && refuses.getAndSet(false)) {
                    throw new IllegalStateException("refused by the test");
                }
                return next.newCall(method, options);
            }
        });
        OwnerToken first = heldByAnother();
        OwnerToken waiter = owner();
        refuses.set(true);
        // A watch would answer a waiter that asks again soon from memory; here, no watch exists.
        AcquireRequest often = request(waiter).waiting(Duration.ofSeconds(10).toNanos());
        assertThat(answer(store.acquire(often))).isInstanceOf(AcquireReply.Failed.class);
        assertThat(refuses).isFalse();
        runtime.advance(Duration.ofSeconds(6));
        assertThat(answer(store.acquire(often))).isInstanceOf(AcquireReply.Queued.class);
        int before = ear.wakes.get();
        release(other, first);
        until(() -> ear.wakes.get() > before);
    }

    // ---- ending

    @ParameterizedTest
    @ValueSource(ints = {1, 5})
    void theRemovalOfAKeyIsRepeated(int times) throws Exception {
        EtcdStore store = store();
        OwnerToken holder = owner();
        granted(store, holder);
        long lease = key(holder).orElseThrow().getLease();
        for (int i = 0; i < times; i++) {
            faults.next(EtcdDutiesTest::deletes, CallFaults.Fault.REQUEST_LOST);
            if (i == 0) {
                assertThat(release(store, holder)).isInstanceOf(ReleaseReply.Failed.class);
            } else {
                until(() -> runtime.isDueWithin(Duration.ofSeconds(1)));
                runtime.advance(Duration.ofSeconds(1));
            }
            until(faults::happened);
        }
        until(() -> runtime.isDueWithin(Duration.ofSeconds(1)));
        runtime.advance(Duration.ofSeconds(1));
        until(() -> queue().isEmpty());
        until(() -> store.attempts() == 0);
        runtime.advance(LEASE.dividedBy(3).plusMillis(1));
        until(() -> ttlOf(lease) < 0);
    }

    /** If the making of a key was not answered, only its lease is known. */
    @ParameterizedTest
    @ValueSource(ints = {1, 5})
    void theRemovalOfALeaseIsRepeated(int times) throws Exception {
        EtcdStore store = store();
        OwnerToken holder = owner();
        faults.next(EtcdDutiesTest::writes, CallFaults.Fault.REPLY_LOST);
        assertThat(answer(store.acquire(request(holder)))).isInstanceOf(AcquireReply.Failed.class);
        long lease = key(holder).orElseThrow().getLease();
        // The driver itself sends it once more.
        faults.each(REVOKES, CallFaults.Fault.REQUEST_LOST);
        assertThat(release(store, holder)).isInstanceOf(ReleaseReply.Failed.class);
        for (int i = 1; i < times; i++) {
            until(() -> runtime.isDueWithin(Duration.ofSeconds(1)));
            int before = faults.count();
            runtime.advance(Duration.ofSeconds(1));
            until(() -> faults.count() > before);
        }
        until(() -> runtime.isDueWithin(Duration.ofSeconds(1)));
        faults.heal();
        runtime.advance(Duration.ofSeconds(1));
        until(() -> queue().isEmpty());
        until(() -> ttlOf(lease) < 0);
        until(() -> store.attempts() == 0);
    }

    /** The longer lease, under which the key was to be put. */
    @Test
    void aLeaseThatWasNotNeededIsRevokedWithTheRelease() throws Exception {
        EtcdStore store = store();
        OwnerToken holder = owner();
        granted(store, holder);
        AtomicLong longer = new AtomicLong();
        faults.next(
                message -> {
                    if (writes(message)) {
                        longer.set(((TxnRequest) message)
                                .getSuccess(0)
                                .getRequestPut()
                                .getLease());
                    }
                    return writes(message);
                },
                CallFaults.Fault.REQUEST_LOST);
        long twiceNanos = TTL.multipliedBy(2).toNanos();
        RenewBatch batch = new RenewBatch(
                List.of(new RenewBatch.Item(LOCK, holder, twiceNanos)),
                Duration.ofMinutes(10).toNanos());
        assertThat(answer(store.renew(batch)).items().get(0)).isInstanceOf(RenewReply.Failed.class);
        assertThat(ttlOf(longer.get())).isPositive();
        assertThat(release(store, holder)).isInstanceOf(ReleaseReply.Released.class);
        until(() -> ttlOf(longer.get()) < 0);
    }

    /** Twice as long as its lease, because a request may be executed late; and no longer. */
    @Test
    void theRemovalIsRepeatedUntilTheLeaseHasEndedByItself() throws Exception {
        EtcdStore store = store();
        OwnerToken holder = owner();
        granted(store, holder);
        faults.each(EtcdDutiesTest::deletes, CallFaults.Fault.REQUEST_LOST);
        assertThat(release(store, holder)).isInstanceOf(ReleaseReply.Failed.class);
        runtime.advance(LEASE.multipliedBy(2).minusSeconds(3));
        for (int i = 0; i < 2; i++) {
            until(() -> runtime.isDueWithin(Duration.ofSeconds(1)));
            int before = faults.count();
            runtime.advance(Duration.ofSeconds(1));
            until(() -> faults.count() > before);
        }
        assertThat(store.attempts()).isEqualTo(1);
        until(() -> runtime.isDueWithin(Duration.ofSeconds(1)));
        runtime.advance(Duration.ofSeconds(3));
        until(() -> store.attempts() == 0);
        LockSupport.parkNanos(Duration.ofMillis(200).toNanos());
        assertThat(runtime.isDueWithin(Duration.ofSeconds(2))).isFalse();
    }

    @Test
    void anAttemptThatWasToldBusyIsForgotten() throws Exception {
        EtcdStore store = store();
        heldByAnother();
        assertThat(answer(store.acquire(request(owner())))).isInstanceOf(AcquireReply.Busy.class);
        until(() -> store.attempts() == 0);
        assertThat(queue()).hasSize(1);
    }

    @Test
    void aThreadThatIsInterruptedWhileItConnectsStaysInterrupted() {
        TcpProxy silent = TcpProxy.to(server.port()).stall();
        EtcdStore store = store(silent.port(), runtime);
        open.add(silent);
        Thread.currentThread().interrupt();
        assertThatThrownBy(store::verify)
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("interrupted");
        assertThat(Thread.interrupted()).isTrue();
    }
}
