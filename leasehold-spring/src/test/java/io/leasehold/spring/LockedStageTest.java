package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.LockBusyException;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.micrometer.context.ContextRegistry;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;

/** Tests of methods that return a stage. */
@Tag("quick")
class LockedStageTest {

    private final AnnotationConfigApplicationContext application = Application.of(MemoryLocks.class, Orders.class);
    private final LockClient locks = application.getBean(LockClient.class);
    private final MemoryLocks.Counting counting = application.getBean(MemoryLocks.Counting.class);
    private final Orders orders = application.getBean(Orders.class);

    @AfterEach
    void close() {
        application.close();
    }

    private static final ThreadLocal<String> TENANT = new ThreadLocal<>();

    static class Orders {

        @Locked(name = "order:{}", key = "#id", maxWait = "0", onBusy = OnBusy.FALLBACK, fallback = "noTenant")
        public CompletableFuture<String> tenant(String id) {
            return CompletableFuture.completedFuture(TENANT.get());
        }

        CompletableFuture<String> noTenant(String id) {
            return CompletableFuture.completedFuture("no lock for " + TENANT.get());
        }

        @Locked(name = "order:{}", key = "#id", maxWait = "0")
        public CompletableFuture<String> pay(String id, CompletableFuture<String> payment, Lease lease) {
            assertThat(Locks.current()).isSameAs(lease);
            return payment;
        }

        @Locked(name = "order:{}", key = "#id", maxWait = "1h")
        public CompletableFuture<String> patient(String id) {
            return CompletableFuture.completedFuture("ran");
        }

        @Locked(name = "order:{}", key = "#id", maxWait = "0")
        public <T> T blocking(String id, Supplier<T> body) {
            return body.get();
        }

        @Locked(name = "order:{}", key = "#id", maxWait = "0", onBusy = OnBusy.SKIP)
        public CompletionStage<String> skipping(String id) {
            throw new IllegalStateException("of the body");
        }

        @Locked(name = "order:{}", key = "#id", maxWait = "0", onBusy = OnBusy.FALLBACK, fallback = "busy")
        public CompletableFuture<String> falling(String id) {
            return CompletableFuture.completedFuture("ran");
        }

        CompletableFuture<String> busy(String id, Attempt.Busy<?> busy) {
            return CompletableFuture.completedFuture(busy.lockName() + " is busy");
        }
    }

    private boolean isHeld() {
        return locks.admin().inspect("order:1").isPresent();
    }

    @Test
    void theBodyHasTheValuesOfTheCallersThread() throws Exception {
        ContextRegistry.getInstance().registerThreadLocalAccessor("tenant", TENANT);
        TENANT.set("blue");
        try (Lease other = locks.named("order:2").acquire()) {
            assertThat(orders.tenant("1").get(1, TimeUnit.MINUTES)).isEqualTo("blue");
            assertThat(orders.tenant("2").get(1, TimeUnit.MINUTES)).isEqualTo("no lock for blue");
        } finally {
            TENANT.remove();
            ContextRegistry.getInstance().removeThreadLocalAccessor("tenant");
        }
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

    /** The body would wait for a lock that becomes free only after its own end. */
    @Test
    void aBodyThatAsksForTheLockItRunsUnderIsToldSoAtOnce() {
        assertThatThrownBy(() -> orders.blocking(
                        "1",
                        () -> orders.patient("1").orTimeout(5, TimeUnit.SECONDS).join()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("is already held by a method around this call");
        assertThat(orders.<String>blocking("1", () -> orders.patient("2").join()))
                .isEqualTo("ran");
        assertThat(isHeld()).isFalse();
    }

    @Test
    void aStageThatIsCancelledBeforeItsBodyBeganWaitsNoMore() throws Exception {
        LockName order = LockName.of("order:{id}", "1");
        try (Lease held = locks.named(order).acquire()) {
            CompletableFuture<String> cancelled = orders.patient("1");
            CompletableFuture<String> timed = orders.patient("1");
            cancelled.cancel(true);
            counting.awaitGivenUp(1);
            timed.orTimeout(10, TimeUnit.MILLISECONDS);
            counting.awaitGivenUp(2);
            assertThatThrownBy(timed::get).hasCauseInstanceOf(TimeoutException.class);
            assertThat(held.isValid()).isTrue();
        }
    }

    /** It is not cancelled itself: only a loss does that. */
    @Test
    void aStageThatIsCancelledLaterKeepsTheLockUntilItsBodyHasEnded() throws Exception {
        CompletableFuture<String> payment = new CompletableFuture<>();
        CompletableFuture<String> paid = orders.pay("1", payment, null);
        while (payment.getNumberOfDependents() == 0) {
            Thread.onSpinWait(); // the body has not begun
        }
        paid.cancel(true);
        assertThat(payment).isNotDone();
        assertThat(isHeld()).isTrue();
        payment.complete("receipt");
        counting.assertNoneHeld();
    }
}
