package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.api.RangeRequest;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.LeaseOption;
import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.servers.EtcdServer;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.SteppedRuntime;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Inspection and forced end of the holds of other clients. */
@Tag("full")
class EtcdAdminTest {

    private static final Duration TTL = Duration.ofSeconds(30);
    private static final LockName ONE = LockName.of("one");
    private static final LockName TWO = LockName.of("two");

    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final SteppedRuntime operators = new SteppedRuntime(new SystemLockRuntime());
    private final CallFaults faults = new CallFaults();
    private EtcdStore holders;
    private EtcdStore store;

    private static EtcdServer server;
    private static Client client;

    @BeforeAll
    static void startServer() {
        server = EtcdTckTest.startOrSkip();
        client = Client.builder().endpoints("http://127.0.0.1:" + server.port()).build();
    }

    @AfterAll
    static void stopServer() {
        if (server != null) {
            client.close();
            server.close();
        }
    }

    @BeforeEach
    void open() {
        holders = new EtcdStore(uri(""), runtime);
        store = new EtcdStore(uri(""), operators, List.of(faults));
    }

    @AfterEach
    void close() {
        faults.heal();
        holders.close();
        store.close();
        runtime.close();
        operators.close();
        client.getKVClient()
                .delete(
                        Keys.bytes("admin"),
                        DeleteOption.builder().isPrefix(true).build())
                .join();
    }

    private static EtcdUri uri(String options) {
        return EtcdUri.parse(StoreUri.parse("etcd://127.0.0.1:" + server.port() + "/admin" + options));
    }

    private static <T> T answer(CompletableFuture<T> future) throws Exception {
        return future.get(60, TimeUnit.SECONDS);
    }

    private static void until(BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start)
                    .as("not in time")
                    .isLessThan(Duration.ofSeconds(20).toNanos());
            LockSupport.parkNanos(2_000_000);
        }
    }

    private OwnerToken take(LockName name, String holder, Class<? extends AcquireReply> expected) throws Exception {
        OwnerToken by = OwnerToken.draw(runtime);
        AcquireRequest request = AcquireRequest.exclusive(List.of(name), by, holder, TTL.toNanos(), TTL.toNanos());
        assertThat(answer(holders.acquire(request.waiting(TTL.toNanos())))).isInstanceOf(expected);
        return by;
    }

    private OwnerToken held(LockName name) throws Exception {
        return take(name, "holder", AcquireReply.Granted.class);
    }

    private OwnerToken queued(LockName name, String holder) throws Exception {
        return take(name, holder, AcquireReply.Queued.class);
    }

    private ReleaseReply release(OwnerToken by, LockName... names) throws Exception {
        return answer(
                store.release(new ReleaseRequest(List.of(names), by, 0, ReleaseRequest.Kind.RELEASE, TTL.toNanos())));
    }

    private static List<KeyValue> queue(LockName name) {
        return client.getKVClient()
                .get(new Keys("admin").queue(name), Etcd.inOrder(0, 0))
                .join()
                .getKvs();
    }

    private static boolean isKept(long lease) {
        return client.getLeaseClient()
                        .timeToLive(lease, LeaseOption.DEFAULT)
                        .join()
                        .getTTL()
                > 0;
    }

    /** A process that has died has left a record of its owner tokens, or another client of the caller has them. */
    @Test
    void whatAnotherClientHasIsReleasedByItsOwnerToken() throws Exception {
        OwnerToken holder = held(ONE);
        OwnerToken waiter = queued(ONE, "waiter");
        long lease = queue(ONE).get(1).getLease();
        assertThat(release(waiter, ONE)).as("it did not hold").isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(queue(ONE)).hasSize(1);
        until(() -> !isKept(lease));
        assertThat(release(OwnerToken.draw(runtime), ONE)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(queue(ONE)).hasSize(1);
        long held = queue(ONE).get(0).getLease();
        assertThat(release(holder, ONE, TWO)).as("one of them").isInstanceOf(ReleaseReply.Released.class);
        assertThat(queue(ONE)).isEmpty();
        until(() -> !isKept(held));
    }

    @Test
    void onlyWhatIsHeldIsRenewedForAnotherClient() throws Exception {
        OwnerToken holder = held(ONE);
        OwnerToken waiter = queued(ONE, "waiter");
        List<RenewReply.Item> items = answer(store.renew(new RenewBatch(
                        List.of(
                                new RenewBatch.Item(ONE, waiter, TTL.toNanos()),
                                new RenewBatch.Item(ONE, holder, TTL.toNanos()),
                                new RenewBatch.Item(TWO, holder, TTL.toNanos())),
                        TTL.toNanos())))
                .items();
        assertThat(items.get(0)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(items.get(1)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(items.get(2)).isInstanceOf(RenewReply.NotOurs.class);
    }

    @Test
    void waitersAreToldInTheirOrderUpToTheLimit() throws Exception {
        held(ONE);
        for (int i = 1; i <= 3; i++) {
            queued(ONE, "waiter-" + i);
        }
        assertThat(answer(store.admin().waiters(ONE, 2)))
                .extracting(QueuedWaiter::holderId)
                .containsExactly("waiter-1", "waiter-2");
        assertThat(answer(store.admin().waiters(ONE, 3))).hasSize(3);
        assertThat(answer(store.admin().waiters(ONE, 9))).hasSize(3);
        assertThat(answer(store.admin().waiters(TWO, 9))).isEmpty();
    }

    @Test
    void aHolderIsToldWithWhatIsLeftOfItsLease() throws Exception {
        held(ONE);
        KeyValue key = queue(ONE).get(0);
        Holder holder = answer(store.admin().describe(ONE)).orElseThrow().holder();
        assertThat(holder.id()).isEqualTo("holder");
        assertThat(holder.remainingTtl()).isPositive().isLessThanOrEqualTo(TTL.plusSeconds(1));
        assertThat(holder.fencingToken()).hasValue(key.getCreateRevision());
        assertThat(holder.ends()).isEqualTo(Holder.Ends.BY_TTL);
        try (EtcdStore based = new EtcdStore(uri("?tokenBase=1000000"), operators)) {
            assertThat(answer(based.admin().describe(ONE))
                            .orElseThrow()
                            .holder()
                            .fencingToken())
                    .hasValue(1_000_000 + key.getCreateRevision());
        }
        client.getKVClient()
                .put(Keys.bytes("admin/two/stranger"), Keys.bytes("by hand"))
                .join();
        Holder stranger = answer(store.admin().describe(TWO)).orElseThrow().holder();
        assertThat(stranger.ends()).isEqualTo(Holder.Ends.NEVER);
        assertThat(stranger.remainingTtl()).isNull();
    }

    @Test
    void locksAreListedByNameUpToTheLimit() throws Exception {
        held(TWO);
        held(ONE);
        queued(ONE, "waiter");
        assertThat(answer(store.admin().list("*", 9)))
                .extracting(HeldLock::name)
                .containsExactly(ONE, TWO);
        assertThat(answer(store.admin().list("*", 1)))
                .extracting(HeldLock::name)
                .containsExactly(ONE);
        assertThat(answer(store.admin().list("t*", 9)))
                .extracting(HeldLock::name)
                .containsExactly(TWO);
        assertThat(answer(store.admin().list("*", 9)).get(0).holder().id()).isEqualTo("holder");
    }

    /** Both have seen that the base is missing. */
    @Test
    void ofTwoClientsThatWriteTheBaseAtOnceOneIsRefused() throws Exception {
        for (boolean same : new boolean[] {true, false}) {
            client.getKVClient().delete(new Keys("admin").tokens()).join();
            EtcdStore slow = new EtcdStore(uri(same ? "" : "?tokenBase=7"), operators, List.of(faults));
            faults.next(TxnRequest.class::isInstance, CallFaults.Fault.REQUEST_HELD);
            CompletableFuture<Void> verified = CompletableFuture.runAsync(slow::verify);
            until(faults::isLate);
            holders.verify();
            faults.deliver();
            if (same) {
                answer(verified);
            } else {
                assertThatThrownBy(() -> answer(verified))
                        .hasCauseInstanceOf(UnsafeStoreException.class)
                        .hasMessageContaining("tokenBase is 7")
                        .hasMessageContaining("\"tokenBase=0\"");
            }
            slow.close();
        }
    }

    @Test
    void aQuestionThatIsNotAnsweredHasAnEnd() throws Exception {
        faults.next(RangeRequest.class::isInstance, CallFaults.Fault.REQUEST_HELD);
        CompletableFuture<?> described = store.admin().describe(ONE);
        until(faults::isLate);
        operators.advance(Duration.ofSeconds(10).minusMillis(1));
        assertThat(described).isNotDone();
        operators.advance(Duration.ofMillis(1));
        assertThatThrownBy(() -> answer(described))
                .hasCauseInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("inspection of \"one\"")
                .hasMessageContaining("10000 ms");
        faults.deliver();
        faults.next(RangeRequest.class::isInstance, CallFaults.Fault.REQUEST_HELD);
        CompletableFuture<?> listed = store.admin().list("*", 1);
        until(faults::isLate);
        operators.advance(Duration.ofSeconds(60).minusMillis(1));
        assertThat(listed).isNotDone();
        operators.advance(Duration.ofMillis(1));
        assertThatThrownBy(() -> answer(listed)).hasMessageContaining("60000 ms");
        faults.deliver();
    }

    @Test
    void aReleaseByForceTakesTheFirstAlone() throws Exception {
        held(ONE);
        queued(ONE, "waiter");
        assertThat(answer(store.admin().forceRelease(ONE, "waiter"))).isFalse();
        assertThat(queue(ONE)).hasSize(2);
        assertThat(answer(store.admin().forceRelease(ONE, "holder"))).isTrue();
        assertThat(answer(store.admin().describe(ONE)).orElseThrow().holder().id())
                .isEqualTo("waiter");
        assertThat(answer(store.admin().forceRelease(TWO, null))).isFalse();
    }
}
