package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.etcd.jetcd.api.LeaseGrantRequest;
import io.etcd.jetcd.api.LeaseKeepAliveRequest;
import io.etcd.jetcd.api.TxnRequest;
import io.leasehold.LockName;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.servers.EtcdServer;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreUri;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
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
 * The time from which a validity counts, for each exchange that yields one. The answer of the exchange is delayed, and
 * the reported time is of a send before the answer was released.
 */
@Tag("full")
class CountedFromTest {

    private static final Predicate<Object> GRANTS_A_LEASE = LeaseGrantRequest.class::isInstance;
    private static final Predicate<Object> EXTENDS_A_LEASE = LeaseKeepAliveRequest.class::isInstance;

    private static final long TTL_NANOS = Duration.ofSeconds(30).toNanos();
    private static final long LIMIT_NANOS = Duration.ofSeconds(30).toNanos();
    private static final LockName LOCK = LockName.of("counted");

    private static EtcdServer server;

    private final CallFaults faults = new CallFaults();
    private LockRuntime runtime;
    private EtcdStore store;
    private EtcdStore other;
    private OwnerToken owner;

    private static boolean writes(Object message) {
        return message instanceof TxnRequest txn
                && txn.getSuccessList().stream().anyMatch(one -> one.hasRequestPut());
    }

    @BeforeAll
    static void startServer() {
        server = EtcdTckTest.startOrSkip();
    }

    @AfterAll
    static void stopServer() {
        if (server != null) {
            server.close();
        }
    }

    @BeforeEach
    void open() {
        runtime = new SystemLockRuntime();
        EtcdUri uri = EtcdUri.parse(StoreUri.parse("etcd://127.0.0.1:" + server.port() + "/counted"));
        store = new EtcdStore(uri, runtime, List.of(faults));
        other = new EtcdStore(uri, runtime);
        owner = OwnerToken.draw(runtime);
    }

    @AfterEach
    void close() throws Exception {
        faults.heal();
        release(store, owner);
        store.close();
        other.close();
        runtime.close();
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

    private AcquireRequest request(OwnerToken by) {
        return AcquireRequest.exclusive(List.of(LOCK), by, "tester", TTL_NANOS, LIMIT_NANOS);
    }

    private static CompletableFuture<RenewReply.Item> renew(EtcdStore at, OwnerToken by, long ttlNanos) {
        return at.renew(new RenewBatch(List.of(new RenewBatch.Item(LOCK, by, ttlNanos)), LIMIT_NANOS))
                .thenApply(reply -> reply.items().get(0));
    }

    private static ReleaseReply release(EtcdStore at, OwnerToken by) throws Exception {
        return answer(at.release(new ReleaseRequest(List.of(LOCK), by, 0, ReleaseRequest.Kind.RELEASE, LIMIT_NANOS)));
    }

    private void hold() throws Exception {
        assertThat(answer(store.acquire(request(owner)))).isInstanceOf(AcquireReply.Granted.class);
    }

    /** Releases the delayed answer; returns when it did. */
    private long letGo() {
        until(faults::isLate);
        long nowNanos = runtime.nanoTime();
        faults.deliver();
        return nowNanos;
    }

    private static void wasSentBefore(AcquireReply reply, long atNanos) {
        assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
        assertThat(((AcquireReply.Granted) reply).grant().sentAtNanos() - atNanos)
                .as("counted from the answer")
                .isNegative();
    }

    private static void wasSentBefore(RenewReply.Item item, long atNanos) {
        assertThat(item).isInstanceOf(RenewReply.Renewed.class);
        assertThat(((RenewReply.Renewed) item).sentAtNanos() - atNanos)
                .as("counted from the answer")
                .isNegative();
    }

    @Test
    void aGrantIsCountedFromTheSendingOfTheRequestForItsLease() throws Exception {
        faults.next(GRANTS_A_LEASE, CallFaults.Fault.REPLY_LATE);
        CompletableFuture<AcquireReply> reply = store.acquire(request(owner));
        long atNanos = letGo();
        wasSentBefore(answer(reply), atNanos);
    }

    @Test
    void aWaitersGrantIsCountedFromTheSendingOfWhatExtendsItsLease() throws Exception {
        OwnerToken first = OwnerToken.draw(runtime);
        assertThat(answer(other.acquire(request(first)))).isInstanceOf(AcquireReply.Granted.class);
        AcquireRequest waiting = request(owner).waiting(LIMIT_NANOS);
        assertThat(answer(store.acquire(waiting))).isInstanceOf(AcquireReply.Queued.class);
        release(other, first);
        faults.next(EXTENDS_A_LEASE, CallFaults.Fault.REPLY_LATE);
        CompletableFuture<AcquireReply> reply = store.acquire(waiting);
        long atNanos = letGo();
        wasSentBefore(answer(reply), atNanos);
    }

    @Test
    void aRenewalIsCountedFromItsSending() throws Exception {
        hold();
        faults.next(EXTENDS_A_LEASE, CallFaults.Fault.REPLY_LATE);
        CompletableFuture<RenewReply.Item> reply = renew(store, owner, TTL_NANOS);
        long atNanos = letGo();
        wasSentBefore(answer(reply), atNanos);
    }

    @Test
    void aRenewalForLongerIsCountedFromTheSendingOfTheRequestForTheLongerLease() throws Exception {
        hold();
        faults.next(GRANTS_A_LEASE, CallFaults.Fault.REPLY_LATE);
        CompletableFuture<RenewReply.Item> reply = renew(store, owner, 2 * TTL_NANOS);
        long atNanos = letGo();
        wasSentBefore(answer(reply), atNanos);
    }

    @Test
    void aRenewalForLongerThatIsRepeatedIsCountedFromTheSendingOfWhatExtendsTheLongerLease() throws Exception {
        hold();
        faults.next(CountedFromTest::writes, CallFaults.Fault.REQUEST_LOST);
        assertThat(answer(renew(store, owner, 2 * TTL_NANOS))).isInstanceOf(RenewReply.Failed.class);
        faults.next(EXTENDS_A_LEASE, CallFaults.Fault.REPLY_LATE);
        CompletableFuture<RenewReply.Item> reply = renew(store, owner, 2 * TTL_NANOS);
        long atNanos = letGo();
        wasSentBefore(answer(reply), atNanos);
    }

    @Test
    void aRenewalByAnotherClientOfTheOwnerTokenIsCountedFromItsSending() throws Exception {
        assertThat(answer(other.acquire(request(owner)))).isInstanceOf(AcquireReply.Granted.class);
        faults.next(EXTENDS_A_LEASE, CallFaults.Fault.REPLY_LATE);
        CompletableFuture<RenewReply.Item> reply = renew(store, owner, TTL_NANOS);
        long atNanos = letGo();
        wasSentBefore(answer(reply), atNanos);
        release(other, owner);
    }

    /** An election timeout of the time for which etcd keeps a lease is not sure. */
    @Test
    void whatALeaderThatIsCutOffMayHaveExtendedIsNotCounted() throws Exception {
        hold();
        long electionNanos = Duration.ofSeconds(1).toNanos();
        // As long as the lease of etcd, which exceeds the ttl by that time.
        RenewReply.Item item = answer(renew(store, owner, TTL_NANOS + electionNanos));
        long afterNanos = runtime.nanoTime();
        assertThat(item).isInstanceOf(RenewReply.Renewed.class);
        assertThat(((RenewReply.Renewed) item).sentAtNanos() - (afterNanos - electionNanos))
                .as("nanoseconds of it that are not sure")
                .isLessThanOrEqualTo(0);
    }

    /** A ttl of whole seconds or not: all of it counts. */
    @Test
    void noPartOfATtlIsLost() throws Exception {
        for (long ttlNanos : new long[] {1_500_000_000L, 2_000_000_000L, 2_000_000_001L}) {
            long beforeNanos = runtime.nanoTime();
            OwnerToken by = OwnerToken.draw(runtime);
            AcquireReply reply =
                    answer(store.acquire(AcquireRequest.exclusive(List.of(LOCK), by, "tester", ttlNanos, LIMIT_NANOS)));
            release(store, by);
            assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
            assertThat(((AcquireReply.Granted) reply).grant().sentAtNanos() - beforeNanos)
                    .as("of %d ns", ttlNanos)
                    .isNotNegative();
        }
    }
}
