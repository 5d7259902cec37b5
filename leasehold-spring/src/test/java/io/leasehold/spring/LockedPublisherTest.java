package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.LockBusyException;
import io.leasehold.LockClient;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.util.function.Tuples;

/** Tests of methods that return a publisher. */
@Tag("quick")
class LockedPublisherTest {

    private static final Duration PATIENCE = Duration.ofMinutes(1);

    /** 10,000 for the figure in docs/spring.md. */
    private static final int CANCELLATIONS = Integer.getInteger("leasehold.cancellations", 1000);

    private final AnnotationConfigApplicationContext application = Application.of(MemoryLocks.class, Orders.class);
    private final LockClient locks = application.getBean(LockClient.class);
    private final Orders orders = application.getBean(Orders.class);

    @AfterEach
    void close() {
        application.close();
    }

    static class Orders {

        private final AtomicInteger bodies = new AtomicInteger();

        int bodies() {
            return bodies.get();
        }

        @Locked(name = "order:{}", key = "#id", maxWait = "1m")
        public Mono<Long> token(String id, @FencingToken long token) {
            bodies.incrementAndGet();
            return ReactiveLocks.current().map(lease -> {
                assertThat(lease.fencingToken()).isEqualTo(token);
                return token;
            });
        }

        @Locked(name = "order:{}", key = "#id", maxWait = "0")
        public <T> Mono<T> mono(String id, Mono<T> body) {
            return body;
        }

        @Locked(name = "order:{}", key = "#id", maxWait = "0")
        public <T> Flux<T> flux(String id, Flux<T> body) {
            return body;
        }

        @Locked(name = "order:{}", key = "#id", maxWait = "0", onLoss = OnLoss.NOTIFY)
        public <T> Mono<T> notified(String id, Mono<T> body) {
            return body;
        }

        @Locked(name = "order:{}", key = "#id", maxWait = "0", onBusy = OnBusy.SKIP)
        public Mono<String> skipping(String id) {
            return Mono.just("ran");
        }

        @Locked(name = "order:{}", key = "#id", maxWait = "0", onBusy = OnBusy.FALLBACK, fallback = "busy")
        public Flux<String> falling(String id) {
            return Flux.just("ran");
        }

        Flux<String> busy(String id) {
            return Flux.just("busy", id);
        }

        @Locked(name = "order:{}", key = "#id", maxWait = "1m")
        public Mono<String> slow(String id) {
            return Mono.delay(Duration.ofMillis(1)).thenReturn("ran");
        }
    }

    private boolean isHeld() {
        return locks.admin().inspect("order:1").isPresent();
    }

    @Test
    void eachSubscriptionAcquires() {
        Mono<Long> token = orders.token("1", 0);
        assertThat(isHeld()).isFalse();
        assertThat(orders.bodies()).isZero();
        Long first = token.block(PATIENCE);
        assertThat(token.block(PATIENCE)).isGreaterThan(first);
        assertThat(isHeld()).isFalse();
    }

    @Test
    void theLockIsHeldUntilTheEnd() {
        assertThat(orders.mono("1", Mono.fromSupplier(this::isHeld)).block(PATIENCE))
                .isTrue();
        assertThat(orders.mono("1", Mono.empty()).block(PATIENCE)).isNull();
        assertThat(orders.flux("1", Flux.range(0, 3).map(i -> isHeld()))
                        .collectList()
                        .block(PATIENCE))
                .isEqualTo(List.of(true, true, true));
        assertThatThrownBy(() -> orders.mono("1", Mono.error(new IllegalStateException("of the body")))
                        .block(PATIENCE))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("of the body");
        assertThatThrownBy(() -> orders.flux("1", Flux.error(new IllegalStateException("of the body")))
                        .blockLast(PATIENCE))
                .hasMessage("of the body");
        assertThat(isHeld()).isFalse();
    }

    @Test
    void aMonoIsNotCancelledOnceItHasItsValue() {
        AtomicBoolean cancelled = new AtomicBoolean();
        assertThat(orders.mono("1", Mono.just("value").doOnCancel(() -> cancelled.set(true)))
                        .block(PATIENCE))
                .isEqualTo("value");
        assertThat(orders.mono("1", Mono.just("value").doOnCancel(() -> cancelled.set(true)))
                        .flux()
                        .next()
                        .block(PATIENCE))
                .isEqualTo("value");
        assertThat(cancelled).isFalse();
    }

    @Test
    void aBusyLockIsThrownSkippedOrHandedToTheFallback() throws InterruptedException {
        assertThat(orders.skipping("1").block(PATIENCE)).isEqualTo("ran");
        try (Lease held = locks.named("order:1").acquire()) {
            assertThatThrownBy(() -> orders.mono("1", Mono.just("ran")).block(PATIENCE))
                    .isInstanceOf(LockBusyException.class);
            assertThat(orders.skipping("1").block(PATIENCE)).isNull();
            assertThat(orders.falling("1").collectList().block(PATIENCE)).containsExactly("busy", "1");
        }
    }

    @Test
    void aSubscriberThatCancelsWhileItWaitsLeavesTheQueue() throws InterruptedException {
        try (Lease held = locks.named("order:1").acquire()) {
            Disposable waiting = orders.slow("1").subscribe();
            untilWaiters(1);
            waiting.dispose();
            untilWaiters(0);
            assertThat(held.isValid()).isTrue();
        }
    }

    private void untilWaiters(int count) throws InterruptedException {
        long until = System.nanoTime() + Duration.ofSeconds(10).toNanos();
        while (locks.admin().waiters("order:1", 10).size() != count) {
            assertThat(System.nanoTime() - until).isNegative();
            Thread.sleep(1);
        }
    }

    @Test
    void aLossCancelsTheBodyAndIsTold() throws InterruptedException {
        CountDownLatch cancelled = new CountDownLatch(1);
        Mono<String> body = Mono.<String>never()
                .doOnSubscribe(begun -> locks.admin().forceRelease("order:1", null))
                .doOnCancel(cancelled::countDown);
        assertThatThrownBy(() -> orders.mono("1", body).block(PATIENCE)).isInstanceOf(LeaseLostException.class);
        assertThat(cancelled.await(5, TimeUnit.MINUTES)).isTrue();
        assertThatThrownBy(() ->
                        orders.flux("1", Flux.concat(Flux.just("one"), body)).blockLast(PATIENCE))
                .isInstanceOf(LeaseLostException.class);
    }

    @Test
    void aLossThatTheBodyIsOnlyToldOfEndsWithAnErrorToo() {
        Throwable thrown = catchThrowable(() -> orders.notified("1", Mono.fromRunnable(() -> {
                    locks.admin().forceRelease("order:1", null);
                    throw new IllegalStateException("of the body");
                }))
                .block(PATIENCE));
        assertThat(thrown).isInstanceOf(LeaseLostException.class);
        assertThat(thrown.getSuppressed()[0]).hasMessage("of the body");
        assertThatThrownBy(() -> orders.notified(
                                "1", Mono.fromCallable(() -> locks.admin().forceRelease("order:1", null)))
                        .block(PATIENCE))
                .isInstanceOf(LeaseLostException.class);
    }

    @Test
    void theSameLockInsideIsRefused() {
        assertThatThrownBy(() -> orders.mono("1", Mono.defer(() -> orders.mono("1", Mono.just("inner"))))
                        .block(PATIENCE))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("not reentrant");
        assertThat(orders.mono("1", Mono.defer(() -> orders.mono("2", Mono.just("inner"))))
                        .block(PATIENCE))
                .isEqualTo("inner");
        assertThatThrownBy(() -> ReactiveLocks.current().block(PATIENCE)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aCancelledBodyGivesTheLockBack() throws InterruptedException {
        Sinks.One<String> begun = Sinks.one();
        Disposable running = orders.mono("1", Mono.never().doOnSubscribe(subscribed -> begun.tryEmitValue("begun")))
                .subscribe();
        begun.asMono().block(PATIENCE);
        assertThat(isHeld()).isTrue();
        running.dispose();
        try (Lease free = locks.named("order:1").tryAcquire(PATIENCE)) {
            assertThat(free).isNotNull();
        }
    }

    /** Runs in the call that subscribes or requests values, and does not notice a cancellation. */
    private void cancelledWhileItRuns(Publisher<Boolean> locked, CountDownLatch begun, CountDownLatch goOn)
            throws InterruptedException {
        Disposable running = Flux.from(locked).subscribe();
        assertThat(begun.await(5, TimeUnit.MINUTES)).isTrue();
        running.dispose();
        try (Lease early = locks.named("order:1").tryAcquire(Duration.ofMillis(200))) {
            assertThat(early).isNull();
        }
        goOn.countDown();
        try (Lease free = locks.named("order:1").tryAcquire(PATIENCE)) {
            assertThat(free).isNotNull();
        }
    }

    @Test
    void aCancellationWaitsForABodyThatStillRunsInItsSubscribe() throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Mono<Boolean> blocking = Mono.fromCallable(() -> {
            begun.countDown();
            awaitUninterruptibly(goOn);
            return true;
        });
        cancelledWhileItRuns(orders.mono("1", blocking), begun, goOn);
    }

    @Test
    void aCancellationWaitsForABodyThatStillRunsInItsRequest() throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Flux<Boolean> blocking = Flux.generate(sink -> {
            begun.countDown();
            awaitUninterruptibly(goOn);
            sink.next(true);
        });
        cancelledWhileItRuns(orders.flux("1", blocking), begun, goOn);
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        boolean interrupted = false;
        while (true) {
            try {
                assertThat(latch.await(5, TimeUnit.MINUTES)).isTrue();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void aBodyRunsOnTheWorkExecutorAndMayBlock() {
        CountDownLatch both = new CountDownLatch(2);
        Mono<Boolean> meeting = Mono.fromCallable(() -> {
            both.countDown();
            return both.await(10, TimeUnit.SECONDS);
        });
        assertThat(Mono.zip(orders.mono("1", meeting), orders.mono("2", meeting))
                        .block(PATIENCE))
                .isEqualTo(Tuples.of(true, true));
    }

    @Test
    void leaseholdReactorFindsTheSameLease() {
        assertThat(orders.mono(
                                "1",
                                Mono.zip(
                                        ReactiveLocks.current(),
                                        io.leasehold.reactor.ReactiveLocks.current(),
                                        (ours, theirs) -> ours == theirs))
                        .block(PATIENCE))
                .isTrue();
        assertThat(io.leasehold.reactor.ReactiveLocks.using(
                                locks.named("order:2"),
                                PATIENCE,
                                lease -> ReactiveLocks.current().map(found -> found == lease))
                        .block(PATIENCE))
                .isTrue();
    }

    @Test
    void cancellationsAtAnyMomentLeaveNothing() throws InterruptedException {
        Random random = new Random(1);
        ScheduledExecutorService cancelling = Executors.newSingleThreadScheduledExecutor();
        CountDownLatch cancelled = new CountDownLatch(CANCELLATIONS);
        for (int i = 0; i < CANCELLATIONS; i++) {
            Disposable running = orders.slow("1").subscribe(value -> {}, error -> {});
            var unused = cancelling.schedule(
                    () -> {
                        running.dispose();
                        cancelled.countDown();
                    },
                    random.nextInt(3000),
                    TimeUnit.MICROSECONDS);
        }
        assertThat(cancelled.await(5, TimeUnit.MINUTES)).isTrue();
        cancelling.shutdownNow();
        try (Lease free = locks.named("order:1").tryAcquire(PATIENCE)) {
            assertThat(free).isNotNull();
        }
        assertThat(locks.admin().list("*", 10)).isEmpty();
        application.getBean(MemoryLocks.Counting.class).assertNoneHeld();
    }
}
