package io.leasehold.reactor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockBusyException;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.MultiLease;
import io.micrometer.context.ContextRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import reactor.core.CorePublisher;
import reactor.core.Disposable;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Hooks;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Schedulers;

/** Tests of the times at which publishers under a lock acquire, release and end. */
@Tag("quick")
class ReactiveLocksTest {

    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private final LockClient locks = Leasehold.connect("memory:");
    private final DistributedLock lock = locks.named("order:1");

    @AfterEach
    void close() {
        locks.close();
    }

    private boolean isHeld() {
        return locks.admin().inspect("order:1").isPresent();
    }

    private void assertFree() throws InterruptedException {
        try (Lease free = lock.tryAcquire(PATIENCE)) {
            assertThat(free).isNotNull();
        }
        assertThat(isHeld()).isFalse();
    }

    private void takeAway() {
        assertThat(locks.admin().forceRelease("order:1", null)).isTrue();
    }

    @Test
    void runsOnTheExpectedReactor() {
        String expected = System.getProperty("expected.reactor");
        assumeTrue(expected != null, "only a run on another Reactor says which");
        assertThat(CorePublisher.class
                        .getProtectionDomain()
                        .getCodeSource()
                        .getLocation()
                        .toString())
                .contains("reactor-core-" + expected);
    }

    @Test
    void eachSubscriptionIsAnAttemptAndNothingHappensBefore() {
        AtomicInteger works = new AtomicInteger();
        Mono<Long> token = ReactiveLocks.using(lock, PATIENCE, lease -> {
            works.incrementAndGet();
            return Mono.fromSupplier(lease::fencingToken);
        });
        assertThat(works).hasValue(0);
        assertThat(isHeld()).isFalse();
        Long first = token.block(PATIENCE);
        assertThat(token.block(PATIENCE)).isGreaterThan(first);
        assertThat(works).hasValue(2);
    }

    @Test
    void theLockIsHeldWhileTheWorkRunsAndFreeWhenItsEndIsPassedOn() {
        List<Boolean> held = new ArrayList<>();
        Mono<String> one = ReactiveLocks.using(
                lock,
                PATIENCE,
                lease -> Mono.fromSupplier(() -> {
                    held.add(isHeld());
                    return "done";
                }));
        assertThat(one.doOnNext(value -> held.add(isHeld())).block(PATIENCE)).isEqualTo("done");
        assertThat(held).containsExactly(true, false);
        held.clear();
        ReactiveLocks.usingMany(lock, PATIENCE, lease -> Flux.range(0, 3))
                .doOnNext(value -> held.add(isHeld()))
                .doOnComplete(() -> held.add(isHeld()))
                .blockLast(PATIENCE);
        assertThat(held).containsExactly(true, true, true, false);
        held.clear();
        assertThatThrownBy(() -> ReactiveLocks.using(
                                lock, PATIENCE, lease -> Mono.error(new IllegalStateException("of the work")))
                        .doOnError(error -> held.add(isHeld()))
                        .block(PATIENCE))
                .hasMessage("of the work");
        assertThat(held).containsExactly(false);
        assertThat(ReactiveLocks.using(lock, PATIENCE, lease -> Mono.empty()).block(PATIENCE))
                .isNull();
    }

    @Test
    void theWorkIsNotCancelledOnceItHasItsValue() {
        AtomicBoolean cancelled = new AtomicBoolean();
        assertThat(ReactiveLocks.using(
                                lock, PATIENCE, lease -> Mono.just("value").doOnCancel(() -> cancelled.set(true)))
                        .block(PATIENCE))
                .isEqualTo("value");
        assertThat(cancelled).isFalse();
    }

    @Test
    void valuesComeAsTheyAreAskedFor() throws InterruptedException {
        AtomicInteger produced = new AtomicInteger();
        List<Integer> seen = new ArrayList<>();
        CountDownLatch ended = new CountDownLatch(1);
        BaseSubscriber<Integer> subscriber = new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(org.reactivestreams.Subscription subscription) {
                subscription.request(1); // before the grant
            }

            @Override
            protected void hookOnNext(Integer value) {
                seen.add(value);
                assertThat(produced).hasValue(seen.size());
                request(1);
            }

            @Override
            protected void hookOnComplete() {
                ended.countDown();
            }
        };
        ReactiveLocks.usingMany(
                        lock, PATIENCE, lease -> Flux.range(1, 100).doOnNext(value -> produced.incrementAndGet()))
                .subscribe(subscriber);
        assertThat(ended.await(1, TimeUnit.MINUTES)).isTrue();
        assertThat(seen).hasSize(100);
    }

    @Test
    void theWorkNeverRunsOnTheSubscribersThread() {
        for (int i = 0; i < 200; i++) {
            Thread subscriber = Thread.currentThread();
            Thread work = ReactiveLocks.using(lock, PATIENCE, lease -> Mono.fromSupplier(Thread::currentThread))
                    .block(PATIENCE);
            assertThat(work).isNotSameAs(subscriber);
        }
    }

    @Test
    void anExecutorThatRefusesTheWorkIsAnErrorAndHoldsNothing() {
        try (LockClient refusing = Leasehold.builder()
                .store("memory:")
                .workExecutor(task -> {
                    throw new RejectedExecutionException("full");
                })
                .connect()) {
            assertThatThrownBy(() -> ReactiveLocks.using(refusing.named("order:1"), PATIENCE, lease -> Mono.empty())
                            .block(PATIENCE))
                    .isInstanceOf(RejectedExecutionException.class);
            assertThat(refusing.admin().inspect("order:1")).isEmpty();
        }
    }

    @Test
    void aFunctionThatFailsIsAnErrorOfTheWork() throws InterruptedException {
        assertThatThrownBy(() -> ReactiveLocks.using(lock, PATIENCE, lease -> {
                            throw new IllegalStateException("of the function");
                        })
                        .block(PATIENCE))
                .hasMessage("of the function");
        assertThatThrownBy(
                        () -> ReactiveLocks.using(lock, PATIENCE, lease -> null).block(PATIENCE))
                .hasMessage("the work returned null");
        assertFree();
    }

    @Test
    void aBusyLockIsAnErrorAfterThePatience() throws InterruptedException {
        AtomicBoolean ran = new AtomicBoolean();
        try (Lease held = lock.acquire()) {
            assertThatThrownBy(() -> ReactiveLocks.using(
                                    lock, Duration.ZERO, lease -> Mono.fromRunnable(() -> ran.set(true)))
                            .block(PATIENCE))
                    .isInstanceOf(LockBusyException.class);
        }
        assertThat(ran).isFalse();
    }

    @Test
    void whatTheLockRefusesIsAnError() {
        assertThatThrownBy(() -> ReactiveLocks.using(lock, Duration.ofSeconds(-1), lease -> Mono.empty())
                        .block(PATIENCE))
                .isInstanceOf(IllegalArgumentException.class);
        locks.close();
        assertThatThrownBy(() -> ReactiveLocks.using(lock, PATIENCE, lease -> Mono.empty())
                        .block(PATIENCE))
                .isInstanceOf(IllegalStateException.class);
    }

    @Test
    void theWorkFindsItsLeaseInTheContext() {
        Mono<List<Long>> tokens = ReactiveLocks.using(
                lock,
                PATIENCE,
                outer -> ReactiveLocks.using(
                                locks.named("order:2"),
                                PATIENCE,
                                inner -> ReactiveLocks.current()
                                        .publishOn(Schedulers.parallel())
                                        .map(lease -> List.of(lease.fencingToken(), inner.fencingToken())))
                        .flatMap(innermost -> ReactiveLocks.current().map(lease -> {
                            assertThat(lease).isSameAs(outer);
                            return innermost;
                        })));
        List<Long> found = tokens.block(PATIENCE);
        assertThat(found.get(0)).isEqualTo(found.get(1));
        assertThatThrownBy(() -> ReactiveLocks.current().block(PATIENCE))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("no Lease");
    }

    @Test
    void theContextOfTheSubscriberReachesTheWork() {
        assertThat(ReactiveLocks.using(
                                lock,
                                PATIENCE,
                                lease -> Mono.deferContextual(context -> Mono.just(context.<String>get("caller"))))
                        .contextWrite(context -> context.put("caller", "mine"))
                        .block(PATIENCE))
                .isEqualTo("mine");
    }

    @Test
    void threadLocalsOfTheSubscriberReachTheWorkWhereReactorPropagatesThem() {
        ThreadLocal<String> caller = new ThreadLocal<>();
        ContextRegistry.getInstance().registerThreadLocalAccessor("caller", caller);
        Hooks.enableAutomaticContextPropagation();
        try {
            caller.set("mine");
            List<String> found = new ArrayList<>();
            ReactiveLocks.using(lock, PATIENCE, lease -> {
                        found.add(caller.get());
                        return Mono.fromRunnable(() -> found.add(caller.get()));
                    })
                    .doOnTerminate(() -> found.add(caller.get()))
                    .block(PATIENCE);
            assertThat(found).containsExactly("mine", "mine", "mine");
        } finally {
            Hooks.disableAutomaticContextPropagation();
            ContextRegistry.getInstance().removeThreadLocalAccessor("caller");
        }
    }

    @Test
    void severalLocksAreHeldTogether() {
        Mono<Long> token = ReactiveLocks.using(
                locks.all("order:1", "order:2"),
                PATIENCE,
                both -> ReactiveLocks.currentMulti().map(lease -> {
                    assertThat(locks.admin().list("*", 10)).hasSize(2);
                    MultiLease same = lease;
                    return same.fencingToken("order:2");
                }));
        assertThat(token.block(PATIENCE)).isPositive();
        assertThat(locks.admin().list("*", 10)).isEmpty();
    }

    @Test
    void cancellingWhileItWaitsLeavesTheQueue() throws InterruptedException {
        AtomicBoolean ran = new AtomicBoolean();
        try (Lease held = lock.acquire()) {
            Disposable waiting = ReactiveLocks.using(lock, PATIENCE, lease -> Mono.fromRunnable(() -> ran.set(true)))
                    .subscribe();
            waiting.dispose();
        }
        assertFree();
        assertThat(ran).isFalse();
    }

    @Test
    void cancellingInsideOnSubscribeAsksForNothing() throws InterruptedException {
        AtomicBoolean ran = new AtomicBoolean();
        ReactiveLocks.using(lock, PATIENCE, lease -> Mono.fromRunnable(() -> ran.set(true)))
                .subscribe(new BaseSubscriber<Object>() {
                    @Override
                    protected void hookOnSubscribe(org.reactivestreams.Subscription subscription) {
                        subscription.cancel();
                    }
                });
        assertFree();
        assertThat(ran).isFalse();
    }

    @Test
    void cancellingRunningWorkGivesTheLockBack() throws InterruptedException {
        Sinks.One<String> begun = Sinks.one();
        AtomicBoolean cancelled = new AtomicBoolean();
        Disposable running = ReactiveLocks.using(
                        lock,
                        PATIENCE,
                        lease -> Mono.never()
                                .doOnSubscribe(subscribed -> begun.tryEmitValue("begun"))
                                .doOnCancel(() -> {
                                    assertThat(isHeld()).isTrue();
                                    cancelled.set(true);
                                }))
                .subscribe();
        begun.asMono().block(PATIENCE);
        running.dispose();
        assertFree();
        assertThat(cancelled).isTrue();
    }

    @Test
    void workThatRunsInsideSubscribeIsWaitedForBeforeTheLockIsGivenBack() throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        CompletableFuture<Boolean> heldToTheEnd = new CompletableFuture<>();
        Disposable running = ReactiveLocks.using(
                        lock,
                        PATIENCE,
                        lease -> Mono.fromCallable(() -> {
                            begun.countDown();
                            go.await();
                            heldToTheEnd.complete(lease.isValid() && isHeld());
                            return "too late";
                        }))
                .subscribe();
        assertThat(begun.await(1, TimeUnit.MINUTES)).isTrue();
        running.dispose();
        assertThat(lock.tryAcquire(Duration.ofMillis(20))).isNull();
        go.countDown();
        assertThat(heldToTheEnd.join()).isTrue();
        assertFree();
    }

    @Test
    void workThatRunsInsideARequestIsWaitedForToo() throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        CompletableFuture<Boolean> heldToTheEnd = new CompletableFuture<>();
        CountDownLatch subscribed = new CountDownLatch(1);
        BaseSubscriber<Integer> subscriber = new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(org.reactivestreams.Subscription subscription) {}
        };
        ReactiveLocks.usingMany(
                        lock,
                        PATIENCE,
                        lease -> Flux.range(0, 9)
                                .doOnNext(value -> {
                                    begun.countDown();
                                    awaitQuietly(go);
                                    heldToTheEnd.complete(lease.isValid() && isHeld());
                                })
                                .doOnSubscribe(begin -> subscribed.countDown()))
                .subscribe(subscriber);
        assertThat(subscribed.await(1, TimeUnit.MINUTES)).isTrue();
        Thread requesting = new Thread(() -> subscriber.request(1));
        requesting.start();
        assertThat(begun.await(1, TimeUnit.MINUTES)).isTrue();
        subscriber.cancel();
        assertThat(lock.tryAcquire(Duration.ofMillis(20))).isNull();
        go.countDown();
        assertThat(heldToTheEnd.join()).isTrue();
        requesting.join();
        assertFree();
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void aLossCancelsTheWorkAndIsTold() throws InterruptedException {
        CountDownLatch cancelled = new CountDownLatch(1);
        Mono<String> work =
                Mono.<String>never().doOnSubscribe(begun -> takeAway()).doOnCancel(cancelled::countDown);
        assertThatThrownBy(
                        () -> ReactiveLocks.using(lock, PATIENCE, lease -> work).block(PATIENCE))
                .isInstanceOf(LeaseLostException.class)
                .hasMessageContaining("FORCE_RELEASED");
        assertThat(cancelled.await(1, TimeUnit.MINUTES)).isTrue();
        assertThatThrownBy(() -> ReactiveLocks.usingMany(lock, PATIENCE, lease -> Flux.concat(Flux.just("one"), work))
                        .blockLast(PATIENCE))
                .isInstanceOf(LeaseLostException.class);
        assertFree();
    }

    @Test
    void aLossIsToldAlsoIfTheWorkHasEnded() {
        Throwable thrown = catchThrowable(() -> ReactiveLocks.using(
                        lock,
                        PATIENCE,
                        lease -> Mono.fromRunnable(() -> {
                            takeAway();
                            awaitLoss(lease);
                            throw new IllegalStateException("of the work");
                        }))
                .block(PATIENCE));
        assertThat(thrown).isInstanceOf(LeaseLostException.class);
        assertThatThrownBy(() -> ReactiveLocks.using(
                                lock,
                                PATIENCE,
                                lease -> Mono.fromSupplier(() -> {
                                    takeAway();
                                    awaitLoss(lease);
                                    return "not to be seen";
                                }))
                        .block(PATIENCE))
                .isInstanceOf(LeaseLostException.class);
    }

    private static void awaitLoss(Lease lease) {
        while (lease.isValid()) {
            Thread.onSpinWait();
        }
    }

    @Test
    void aLeaseThatTheWorkItselfGaveBackIsNoLoss() throws InterruptedException {
        assertThat(ReactiveLocks.using(
                                lock,
                                PATIENCE,
                                lease -> Mono.fromFuture(lease.releaseAsync()).thenReturn("done"))
                        .block(PATIENCE))
                .isEqualTo("done");
        assertFree();
    }

    @Test
    void aLeaseThatIsLostBeforeItsSubscriberHasItRunsNothing() {
        AtomicBoolean ran = new AtomicBoolean();
        assertThatThrownBy(() -> ReactiveLocks.using(
                                new AnsweredLater<>(lock, lease -> {
                                    takeAway();
                                    awaitLoss(lease);
                                }),
                                PATIENCE,
                                lease -> {
                                    ran.set(true);
                                    return Mono.just("ran");
                                })
                        .block(PATIENCE))
                .isInstanceOf(LeaseLostException.class);
        assertThat(ran).isFalse();
    }

    @Test
    void aGrantThatMeetsACancelledSubscriberIsGivenBack() throws InterruptedException {
        AtomicBoolean ran = new AtomicBoolean();
        CompletableFuture<Disposable> subscriber = new CompletableFuture<>();
        subscriber.complete(ReactiveLocks.using(
                        new AnsweredLater<>(lock, lease -> subscriber.join().dispose()),
                        PATIENCE,
                        lease -> Mono.fromRunnable(() -> ran.set(true)))
                .subscribe());
        subscriber.join();
        assertFree();
        assertThat(ran).isFalse();
    }

    @Test
    void aLossThatMeetsTheEndOfTheWorkEndsItOnce() throws InterruptedException {
        for (int i = 0; i < 200; i++) {
            AtomicInteger ends = new AtomicInteger();
            CountDownLatch ended = new CountDownLatch(1);
            ReactiveLocks.usingMany(
                            lock,
                            PATIENCE,
                            lease -> Flux.just(1, 2)
                                    .doOnNext(value -> Schedulers.parallel()
                                            .schedule(() ->
                                                    locks.admin().forceRelease(LockName.exactly("order:1"), null)))
                                    .publishOn(Schedulers.parallel()))
                    .doOnTerminate(ends::incrementAndGet)
                    .doFinally(signal -> ended.countDown())
                    .subscribe(value -> {}, error -> assertThat(error).isInstanceOf(LeaseLostException.class));
            assertThat(ended.await(1, TimeUnit.MINUTES)).isTrue();
            assertThat(ends).hasValue(1);
        }
        assertFree();
    }
}
