package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.etcd.jetcd.api.TxnRequest;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.Permit;
import io.leasehold.Permits;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.servers.EtcdServer;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.PermitsByLocks;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that an attempt on permits takes one slot, although etcd's answer about it is lost or its request is late. */
@Tag("full")
@Timeout(60)
class EtcdPermitsTest {

    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private static EtcdServer server;

    private final CallFaults faults = new CallFaults();

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

    private LockClient client() {
        EtcdUri uri = EtcdUri.parse(StoreUri.parse("etcd://127.0.0.1:" + server.port() + "/permits"));
        return Leasehold.builder()
                .store(runtime -> new PermitsByLocks(new EtcdStore(uri, runtime, List.of(faults)), runtime))
                .connect();
    }

    private static boolean puts(Object message) {
        return message instanceof TxnRequest txn && txn.getSuccess(0).hasRequestPut();
    }

    private static List<LockName> held(LockClient locks) {
        return locks.admin().list("*", 100).stream().map(HeldLock::name).toList();
    }

    private static void until(BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start).as("not in time").isLessThan(PATIENCE.toNanos());
            LockSupport.parkNanos(2_000_000);
        }
    }

    @Test
    void aLostAnswerDoesNotCostASecondSlot() throws InterruptedException {
        try (LockClient locks = client()) {
            Permits permits = locks.permits("lost", 3);
            faults.next(EtcdPermitsTest::puts, CallFaults.Fault.REPLY_LOST);
            Permit permit = permits.tryAcquire(PATIENCE);
            assertThat(faults.happened()).isTrue();
            assertThat(permit).isNotNull();
            assertThat(held(locks)).containsExactly(LockName.exactly("lost#" + permit.slot()));
            permit.close();
            assertThat(held(locks)).isEmpty();
        }
    }

    /** The request arrives after the attempt has its permit. */
    @Test
    void aLateRequestDoesNotCostASecondSlot() throws InterruptedException {
        try (LockClient locks = client()) {
            Permits permits = locks.permits("late", 3);
            faults.next(EtcdPermitsTest::puts, CallFaults.Fault.LATE);
            Permit permit = permits.tryAcquire(PATIENCE);
            assertThat(permit).isNotNull();
            until(faults::isLate);
            faults.deliver();
            LockName own = LockName.exactly("late#" + permit.slot());
            until(() -> held(locks).equals(List.of(own)));
            assertThat(permit.isValid()).isTrue();
            permit.close();
        }
    }

    /** A caller without patience hears of a failure; what its request did is undone. */
    @Test
    void anAttemptThatAsksOnceIsUndone() {
        try (LockClient locks = client()) {
            Permits permits = locks.permits("once", 3);
            faults.next(EtcdPermitsTest::puts, CallFaults.Fault.REPLY_LOST);
            CompletableFuture<Permit> asked =
                    permits.attemptAsync(Duration.ZERO).thenApply(attempt -> attempt.orElseThrow());
            until(asked::isDone);
            assertThat(asked).isCompletedExceptionally();
            until(() -> held(locks).isEmpty());
        }
    }

    @Test
    void aWithdrawnAttemptLeavesNothing() {
        try (LockClient locks = client()) {
            Permits permits = locks.permits("withdrawn", 3);
            faults.next(EtcdPermitsTest::puts, CallFaults.Fault.REPLY_LATE);
            CompletableFuture<Permit> asked = permits.acquireAsync();
            until(faults::isLate);
            asked.cancel(false);
            faults.deliver();
            until(() -> held(locks).isEmpty());
        }
    }
}
