package io.leasehold.cdi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.LockBusyException;
import io.leasehold.LockClient;
import io.leasehold.cdi.Container.Application;
import jakarta.enterprise.context.ApplicationScoped;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests of methods that return a stage. */
@ParameterizedClass
@MethodSource("io.leasehold.cdi.Container#ofThisRun")
@Tag("quick")
class LockedStageTest {

    private static Application application;

    private final LockClient locks = application.get(LockClient.class);
    private final Orders orders = application.get(Orders.class);

    LockedStageTest(Container container) {
        assertThat(container).isNotNull(); // a test class that is parameterized takes its parameter
    }

    @BeforeParameterizedClassInvocation
    static void start(Container container) throws Exception {
        application = container.start(MemoryLocks.class, Orders.class);
    }

    @AfterParameterizedClassInvocation
    static void close() {
        application.close();
    }

    @ApplicationScoped
    static class Orders {

        private final AtomicInteger patientRuns = new AtomicInteger();

        @Locked(name = "order:{}", key = "id", maxWait = "0")
        public CompletableFuture<String> pay(String id, CompletableFuture<String> payment, Lease lease) {
            assertThat(Locks.current()).isSameAs(lease);
            return payment;
        }

        @Locked(name = "order:{}", key = "id", maxWait = "0", onBusy = OnBusy.SKIP)
        public CompletionStage<String> skipping(String id) {
            throw new IllegalStateException("of the body");
        }

        @Locked(name = "order:{}", key = "id", maxWait = "0", onBusy = OnBusy.FALLBACK, fallback = "busy")
        public CompletableFuture<String> falling(String id) {
            return CompletableFuture.completedFuture("ran");
        }

        @Locked(name = "order:{}", key = "id", maxWait = "1m")
        public CompletableFuture<String> patient(String id) {
            patientRuns.incrementAndGet();
            return CompletableFuture.completedFuture("ran");
        }

        @Locked(name = "order:{}", key = "id", maxWait = "0")
        public <T> T blocking(String id, Supplier<T> body) {
            return body.get();
        }

        int patientRuns() {
            return patientRuns.get();
        }

        CompletableFuture<String> busy(String id, Attempt.Busy<?> busy) {
            return CompletableFuture.completedFuture(busy.lockName() + " is busy");
        }
    }

    private boolean isHeld() {
        return locks.admin().inspect("order:1").isPresent();
    }

    @Test
    void theLockIsHeldUntilTheStageHasEnded() throws Exception {
        CompletableFuture<String> payment = new CompletableFuture<>();
        CompletableFuture<String> paid = orders.pay("1", payment, null);
        while (!isHeld()) {
            Thread.onSpinWait();
        }
        payment.complete("receipt");
        assertThat(paid.get(1, TimeUnit.MINUTES)).isEqualTo("receipt");
        assertThat(isHeld()).isFalse();
    }

    @Test
    void whatTheBodyThrowsArrives() {
        assertThatThrownBy(() -> orders.skipping("1").toCompletableFuture().get())
                .isInstanceOf(ExecutionException.class)
                .cause()
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("of the body");
        assertThat(isHeld()).isFalse();
    }

    @Test
    void aBusyLockIsThrownSkippedOrHandedToTheFallback() throws Exception {
        assertThat(orders.falling("1").get()).isEqualTo("ran");
        try (Lease held = locks.named("order:1").acquire()) {
            assertThatThrownBy(() ->
                            orders.pay("1", new CompletableFuture<>(), null).get())
                    .cause()
                    .isInstanceOf(LockBusyException.class);
            assertThat(orders.skipping("1").toCompletableFuture().get()).isNull();
            assertThat(orders.falling("1").get()).isEqualTo("order:1 is busy");
        }
    }

    @Test
    void theSameLockInsideABlockingBodyIsRefusedAtOnce() {
        assertThatThrownBy(() ->
                        orders.<String>blocking("1", () -> orders.patient("1").join()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("locks are not reentrant");
        assertThat(orders.<String>blocking("2", () -> orders.patient("1").join()))
                .isEqualTo("ran");
    }

    @Test
    void aStageThatEndsBeforeTheBodyBeganWithdraws() throws Exception {
        int before = orders.patientRuns();
        try (Lease held = locks.named("order:1").acquire()) {
            CompletableFuture<String> cancelled = orders.patient("1");
            CompletableFuture<String> late = orders.patient("1").orTimeout(1, TimeUnit.MILLISECONDS);
            assertThat(cancelled.cancel(true)).isTrue();
            assertThatThrownBy(late::get).cause().isInstanceOf(TimeoutException.class);
            long until = System.nanoTime() + Duration.ofSeconds(10).toNanos();
            while (!locks.admin().waiters("order:1", 10).isEmpty()) {
                assertThat(System.nanoTime() - until).isNegative();
                Thread.sleep(1);
            }
        }
        assertThat(orders.patient("1").get()).isEqualTo("ran"); // after those that had asked before it
        assertThat(orders.patientRuns()).isEqualTo(before + 1);
    }

    @Test
    void aLossCancelsTheStageAndIsTold() {
        CompletableFuture<String> payment = new CompletableFuture<>();
        CompletableFuture<String> paid = orders.pay("1", payment, null);
        while (payment.getNumberOfDependents() == 0) {
            Thread.onSpinWait(); // the body has not begun
        }
        locks.admin().forceRelease("order:1", null);
        assertThatThrownBy(paid::get)
                .cause()
                .isInstanceOf(LeaseLostException.class)
                .satisfies(lost -> assertThat(lost.getSuppressed()[0]).isInstanceOf(CancellationException.class));
        assertThat(payment).isCancelled();
    }
}
