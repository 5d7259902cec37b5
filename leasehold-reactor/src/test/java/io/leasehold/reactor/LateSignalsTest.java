package io.leasehold.reactor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Acquirable;
import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.MultiLease;
import io.leasehold.ReleaseOutcome;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Hooks;
import reactor.core.publisher.Mono;

/** Tests of signals that arrive after the end of a run, arrive twice, or are replaced by an exception. */
@SuppressWarnings("FutureReturnValueIgnored") // what they answer is asked elsewhere
@Tag("quick")
class LateSignalsTest {

    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private final LockClient locks = Leasehold.connect("memory:");

    @AfterEach
    void close() {
        locks.close();
        Hooks.resetOnErrorDropped();
    }

    private Acquirable<Lease> lock() {
        return locks.named("a");
    }

    private boolean isHeld() {
        return locks.admin().inspect("a").isPresent();
    }

    private void takeAway(String name) {
        assertThat(locks.admin().forceRelease(name, null)).isTrue();
    }

    /** Records every signal, even after it has cancelled. */
    private static final class Told implements CoreSubscriber<Object> {
        private final List<Object> signals = new CopyOnWriteArrayList<>();
        private final CountDownLatch ended = new CountDownLatch(1);
        private final CompletableFuture<Subscription> upstream = new CompletableFuture<>();

        @Override
        public void onSubscribe(Subscription subscription) {
            upstream.complete(subscription);
            subscription.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(Object value) {
            signals.add(value);
        }

        @Override
        public void onComplete() {
            signals.add("completed");
            ended.countDown();
        }

        @Override
        public void onError(Throwable error) {
            signals.add(error);
            ended.countDown();
        }
    }

    /** A source that ignores its subscriber: it continues after it was cancelled. */
    private static final class Deaf implements Publisher<Object> {
        private final CompletableFuture<org.reactivestreams.Subscriber<? super Object>> downstream =
                new CompletableFuture<>();

        @Override
        public void subscribe(org.reactivestreams.Subscriber<? super Object> subscriber) {
            subscriber.onSubscribe(new Subscription() {
                @Override
                public void request(long n) {}

                @Override
                public void cancel() {}
            });
            downstream.complete(subscriber);
        }
    }

    /** A front of a hold, which replaces one call of the hold behind it. */
    private static <H extends Hold> H front(Class<H> kind, H behind, String call, Function<H, ?> answer) {
        return kind.cast(Proxy.newProxyInstance(
                kind.getClassLoader(), new Class<?>[] {kind}, (proxy, method, arguments) -> {
                    if (method.getName().equals(call)) {
                        return answer.apply(behind);
                    }
                    try {
                        return method.invoke(behind, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                }));
    }

    /** A lock whose holds have such a front. */
    @SuppressWarnings("unchecked")
    private static <H extends Hold> Acquirable<H> fronted(
            Acquirable<H> lock, Class<H> kind, String call, Function<H, ?> answer) {
        return (Acquirable<H>) Proxy.newProxyInstance(
                Acquirable.class.getClassLoader(), new Class<?>[] {Acquirable.class}, (proxy, method, arguments) -> {
                    Duration maxWait = (Duration) arguments[0];
                    Function<H, CompletionStage<Object>> work = (Function<H, CompletionStage<Object>>) arguments[1];
                    return lock.holdWhile(maxWait, held -> work.apply(front(kind, held, call, answer)));
                });
    }

    @Test
    void whatTheWorkSignalsAfterItsLossIsDroppedAndNotTold() throws Exception {
        List<Throwable> droppedErrors = new ArrayList<>();
        List<Object> discarded = new ArrayList<>();
        Hooks.onErrorDropped(droppedErrors::add);
        Deaf work = new Deaf();
        Told told = new Told();
        ReactiveLocks.usingMany(lock(), PATIENCE, lease -> work)
                .doOnDiscard(String.class, discarded::add)
                .subscribe(told);
        work.downstream.get(1, TimeUnit.MINUTES).onNext("in time");
        takeAway("a");
        assertThat(told.ended.await(1, TimeUnit.MINUTES)).isTrue();
        work.downstream.join().onNext("late");
        IllegalStateException late = new IllegalStateException("late");
        work.downstream.join().onError(late);
        assertThat(told.signals).hasSize(2).startsWith("in time");
        assertThat(told.signals.get(1)).isInstanceOf(LeaseLostException.class);
        assertThat(discarded).containsExactly("late");
        assertThat(droppedErrors).containsExactly(late);
    }

    /** It is no longer valid, and the reason is not known yet. */
    @Test
    void workWhoseLossIsBeingToldDoesNotBegin() {
        AtomicBoolean ran = new AtomicBoolean();
        AtomicBoolean asked = new AtomicBoolean();
        Acquirable<Lease> lostMeanwhile = fronted(lock(), Lease.class, "ensureValidFor", held -> {
            if (asked.getAndSet(true)) {
                held.ensureValidFor(Duration.ZERO);
                return null;
            }
            takeAway("a");
            while (held.isValid()) {
                Thread.onSpinWait();
            }
            throw new LeaseAtRiskException(held.lockName(), Duration.ZERO, Duration.ZERO);
        });
        assertThatThrownBy(() -> ReactiveLocks.using(lostMeanwhile, PATIENCE, lease -> {
                            ran.set(true);
                            return Mono.just("ran");
                        })
                        .block(PATIENCE))
                .isInstanceOf(LeaseLostException.class);
        assertThat(ran).isFalse();
    }

    /** The thread of the work leaves it while another one cancels it. */
    @Test
    void workHearsOfACancellationBeforeItsLockIsGivenBack() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch leave = new CountDownLatch(1);
        CountDownLatch left = new CountDownLatch(1);
        CompletableFuture<Boolean> heldWhenCancelled = new CompletableFuture<>();
        @SuppressWarnings("unchecked")
        Acquirable<Lease> slowToCancel = (Acquirable<Lease>) Proxy.newProxyInstance(
                Acquirable.class.getClassLoader(), new Class<?>[] {Acquirable.class}, (proxy, method, arguments) -> {
                    Function<Lease, CompletionStage<Object>> work =
                            (Function<Lease, CompletionStage<Object>>) arguments[1];
                    lock().holdWhile((Duration) arguments[0], held -> {
                        CompletionStage<Object> stage = work.apply(held);
                        left.countDown();
                        return stage;
                    });
                    return new CompletableFuture<>() {
                        @Override
                        public boolean cancel(boolean mayInterruptIfRunning) {
                            leave.countDown();
                            awaitQuietly(left);
                            return false;
                        }
                    };
                });
        Disposable running = ReactiveLocks.using(
                        slowToCancel,
                        PATIENCE,
                        lease -> Mono.never()
                                .doOnSubscribe(subscribed -> {
                                    begun.countDown();
                                    awaitQuietly(leave);
                                })
                                .doOnCancel(() -> heldWhenCancelled.complete(isHeld())))
                .subscribe();
        assertThat(begun.await(1, TimeUnit.MINUTES)).isTrue();
        running.dispose();
        assertThat(heldWhenCancelled.get(1, TimeUnit.MINUTES)).isTrue();
        try (Lease free = lock().tryAcquire(PATIENCE)) {
            assertThat(free).isNotNull();
        }
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The work has ended, and its lock is being released. */
    @Test
    void aSubscriberThatLeavesDuringTheReleaseHearsNothingMore() throws Exception {
        CompletableFuture<ReleaseOutcome> answered = new CompletableFuture<>();
        CountDownLatch releasing = new CountDownLatch(1);
        Told told = new Told();
        ReactiveLocks.usingMany(
                        fronted(lock(), Lease.class, "releaseAsync", held -> {
                            held.releaseAsync().join();
                            releasing.countDown();
                            return answered;
                        }),
                        PATIENCE,
                        lease -> Flux.just("one"))
                .subscribe(told);
        assertThat(releasing.await(1, TimeUnit.MINUTES)).isTrue();
        told.upstream.join().cancel();
        answered.complete(ReleaseOutcome.RELEASED);
        assertThat(told.signals).containsExactly("one");
        assertThat(isHeld()).isFalse();
    }

    /** For example, no memory is left for the request. */
    @Test
    void aReleaseThatCannotBeSentEndsTheRunAllTheSame() throws Exception {
        for (Throwable thrown : List.of(new IllegalStateException("made"), new StackOverflowError("made"))) {
            Function<Lease, ?> refusing = held -> {
                held.releaseAsync().join();
                if (thrown instanceof Error error) {
                    throw error;
                }
                throw (RuntimeException) thrown;
            };
            assertThat(ReactiveLocks.using(
                                    fronted(lock(), Lease.class, "releaseAsync", refusing),
                                    PATIENCE,
                                    lease -> Mono.just("done"))
                            .block(PATIENCE))
                    .isEqualTo("done");
            assertThat(isHeld()).isFalse();
        }
    }

    @Test
    void anErrorThatIsThrownWhereTheLockIsAskedForIsTold() {
        StackOverflowError thrown = new StackOverflowError("made");
        @SuppressWarnings("unchecked")
        Acquirable<Lease> broken = (Acquirable<Lease>) Proxy.newProxyInstance(
                Acquirable.class.getClassLoader(), new Class<?>[] {Acquirable.class}, (proxy, method, arguments) -> {
                    throw thrown;
                });
        Told told = new Told();
        ReactiveLocks.usingMany(broken, PATIENCE, lease -> Flux.never()).subscribe(told);
        assertThat(told.signals).containsExactly(thrown);
    }

    @Test
    void aLossCarriesTheErrorOfTheWorkUnlessThatIsTheLossItself() {
        IllegalStateException ofTheWork = new IllegalStateException("of the work");
        LeaseLostException ofAnother = new LeaseLostException(LockName.of("b"), LossCause.EXPIRED, "made");
        for (Throwable error : List.of(ofTheWork, ofAnother)) {
            assertThatThrownBy(() -> ReactiveLocks.using(
                                    lock(),
                                    PATIENCE,
                                    lease -> Mono.fromRunnable(() -> takeAway("a"))
                                            .then(Mono.defer(() -> {
                                                while (lease.isValid()) {
                                                    Thread.onSpinWait();
                                                }
                                                return Mono.error(error);
                                            })))
                            .block(PATIENCE))
                    .isInstanceOfSatisfying(LeaseLostException.class, lost -> {
                        assertThat(lost.lockName().text()).isEqualTo("a");
                        assertThat(lost).isNotSameAs(error);
                    });
        }
        LeaseLostException ofA = new LeaseLostException(LockName.of("a"), LossCause.EXPIRED, "made");
        assertThat(Losses.with(ofA, null)).isSameAs(ofA);
        assertThat(Losses.with(ofA, ofTheWork)).isSameAs(ofA).hasSuppressedException(ofTheWork);
        assertThat(Losses.with(ofA, ofAnother)).isSameAs(ofA).hasSuppressedException(ofAnother);
        LeaseLostException again = new LeaseLostException(LockName.of("a"), LossCause.EXPIRED, "told by the work");
        assertThat(Losses.with(ofA, again)).isSameAs(again);
    }

    @Test
    void aLossThatOnlyTheReleaseFindsNamesTheLock() {
        Function<Hold, ?> lost = held -> {
            held.releaseAsync().join();
            return CompletableFuture.completedFuture(ReleaseOutcome.ALREADY_LOST);
        };
        assertThatThrownBy(() -> ReactiveLocks.using(
                                fronted(lock(), Lease.class, "releaseAsync", lost::apply),
                                PATIENCE,
                                lease -> Mono.just("done"))
                        .block(PATIENCE))
                .isInstanceOfSatisfying(
                        LeaseLostException.class,
                        told -> assertThat(told.lockName().text()).isEqualTo("a"));
        for (List<LockName> several : List.of(List.of(LockName.of("b")), List.of(LockName.of("b"), LockName.of("c")))) {
            assertThatThrownBy(() -> ReactiveLocks.using(
                                    fronted(
                                            locks.all(several.toArray(LockName[]::new)),
                                            MultiLease.class,
                                            "releaseAsync",
                                            lost::apply),
                                    PATIENCE,
                                    lease -> Mono.just("done"))
                            .block(PATIENCE))
                    .isInstanceOfSatisfying(
                            LeaseLostException.class,
                            told -> assertThat(told.lockName().text()).isEqualTo("b"));
        }
    }

    /** Each request enters and leaves the run; the second and third have no lasting effect. */
    @Test
    void aRunThatWasAskedForMoreAgainAndAgainIsGivenBackWhenItIsCancelled() throws Exception {
        BlockingQueue<Object> seen = new LinkedBlockingQueue<>();
        BaseSubscriber<Object> subscriber = new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {}

            @Override
            protected void hookOnNext(Object value) {
                seen.add(value);
            }
        };
        ReactiveLocks.usingMany(lock(), PATIENCE, lease -> Flux.range(0, 9)).subscribe(subscriber);
        for (int i = 0; i < 3; i++) {
            subscriber.request(1);
            assertThat(seen.poll(1, TimeUnit.MINUTES)).isEqualTo(i);
        }
        subscriber.cancel();
        try (Lease free = locks.named("a").tryAcquire(PATIENCE)) {
            assertThat(free).isNotNull();
        }
    }
}
