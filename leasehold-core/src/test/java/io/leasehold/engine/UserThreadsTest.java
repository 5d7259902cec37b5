package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** User code in callbacks and in work delays neither the report of a loss nor other work. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(120)
final class UserThreadsTest {

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final int MANY = 200;

    private final CountDownLatch over = new CountDownLatch(1);

    private CompletableFuture<String> blocking(LockClient locks, int number, CountDownLatch begun) {
        return locks.named("work-" + number).holdWhile(PATIENCE, lease -> {
            begun.countDown();
            awaitQuietly(over);
            return CompletableFuture.completedFuture("done");
        });
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Submits many blocking works, loses a lease, and checks whether its holder is notified. */
    private void tellsOfALossBeside(LockClient locks, CountDownLatch begun) throws Exception {
        List<CompletableFuture<String>> works = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            works.add(blocking(locks, i, begun));
        }
        Lease lease = locks.named("lost").acquire();
        CompletableFuture<LossCause> told = new CompletableFuture<>();
        CompletableFuture<?> ended = lease.whenEnded().toCompletableFuture();
        lease.onLost(told::complete);
        assertThat(locks.admin().forceRelease(LockName.exactly("lost"), null)).isTrue();
        assertThat(told.get(30, TimeUnit.SECONDS)).isEqualTo(LossCause.FORCE_RELEASED);
        ended.get(30, TimeUnit.SECONDS);
        over.countDown();
        for (CompletableFuture<String> work : works) {
            assertThat(work.get(30, TimeUnit.SECONDS)).isEqualTo("done");
        }
    }

    @Test
    void manyWorksThatBlockHoldUpNeitherEachOtherNorALoss() throws Exception {
        try (LockClient locks = Leasehold.connect("memory:")) {
            CountDownLatch begun = new CountDownLatch(MANY);
            List<CompletableFuture<String>> works = new ArrayList<>();
            for (int i = 0; i < MANY; i++) {
                works.add(blocking(locks, 1_000 + i, begun));
            }
            assertThat(begun.await(60, TimeUnit.SECONDS)).as("all have begun").isTrue();
            tellsOfALossBeside(locks, new CountDownLatch(MANY));
            for (CompletableFuture<String> work : works) {
                assertThat(work.get(30, TimeUnit.SECONDS)).isEqualTo("done");
            }
        }
    }

    @Test
    void manyLossCallbacksThatBlockHoldUpNoOther() throws Exception {
        try (LockClient locks = Leasehold.connect("memory:")) {
            CountDownLatch told = new CountDownLatch(MANY);
            for (int i = 0; i < MANY; i++) {
                Lease lease = locks.named("lost-" + i).acquire();
                lease.onLost(cause -> {
                    told.countDown();
                    awaitQuietly(over);
                });
                locks.admin().forceRelease(LockName.exactly("lost-" + i), null);
            }
            assertThat(told.await(60, TimeUnit.SECONDS)).isTrue();
            over.countDown();
        }
    }

    /** Code that continues there may block: it delays neither the store's thread nor that of the release. */
    @Test
    void whatFollowsTheEndOfALeaseRunsOnAThreadForCallbacks() throws Exception {
        try (LockClient locks = Leasehold.connect("memory:")) {
            Lease lost = locks.named("lost").acquire();
            Lease released = locks.named("released").acquire();
            List<CompletableFuture<String>> threads = new ArrayList<>();
            for (Lease lease : List.of(lost, released)) {
                CompletableFuture<String> thread = new CompletableFuture<>();
                threads.add(thread);
                lease.whenEnded()
                        .thenAccept(
                                end -> thread.complete(Thread.currentThread().getName()));
            }
            locks.admin().forceRelease(LockName.exactly("lost"), null);
            released.release();
            for (CompletableFuture<String> thread : threads) {
                assertThat(thread.get(60, TimeUnit.SECONDS)).startsWith("leasehold-callback");
            }
        }
    }

    /** Dependent stages may block: the thread that delivers the event must deliver events to others, too. */
    @Test
    void whatFollowsARiskOrARefusalRunsOnAThreadForCallbacks() throws Exception {
        SilentStore store = new SilentStore();
        try (LockClient locks = Leasehold.builder().store(store).connect()) {
            CompletableFuture<Lease> wanted = locks.named("n").acquireAsync();
            AcquireRequest asked = store.acquires().get(0).request();
            store.acquires()
                    .get(0)
                    .answer()
                    .complete(new AcquireReply.Granted(
                            new Grant(asked.owner(), TokenRange.of(1, 1), System.nanoTime(), Incarnation.DURABLE),
                            List.of()));
            CompletableFuture<String> atRisk = new CompletableFuture<>();
            wanted.get(60, TimeUnit.SECONDS)
                    .onAtRisk(left -> atRisk.complete(Thread.currentThread().getName()));
            store.ear().suspended(asked.owner());
            assertThat(atRisk.get(60, TimeUnit.SECONDS)).startsWith("leasehold-callback");
            CompletableFuture<String> refused = new CompletableFuture<>();
            locks.named("other")
                    .holdWhile(Duration.ZERO, lease -> CompletableFuture.completedFuture("never"))
                    .whenComplete((done, error) ->
                            refused.complete(Thread.currentThread().getName()));
            store.acquires().get(1).answer().complete(new AcquireReply.Busy(null, 0, List.of()));
            assertThat(refused.get(60, TimeUnit.SECONDS)).startsWith("leasehold-callback");
        }
    }

    @Test
    void workRunsOnTheExecutorThatTheUserGives() throws Exception {
        ExecutorService one = Executors.newSingleThreadExecutor(task -> new Thread(task, "mine"));
        try (LockClient locks =
                Leasehold.builder().store("memory:").workExecutor(one).connect()) {
            CompletableFuture<String> ran = locks.named("x")
                    .holdWhile(
                            PATIENCE,
                            lease -> CompletableFuture.completedFuture(
                                    Thread.currentThread().getName()));
            assertThat(ran.get(30, TimeUnit.SECONDS)).isEqualTo("mine");
            // The executor is full with one work, and nothing else waits for it.
            tellsOfALossBeside(locks, new CountDownLatch(1));
        } finally {
            one.shutdown();
        }
    }

    @Test
    void anExecutorThatRefusesEndsTheHoldAndTellsWhy() throws Exception {
        try (LockClient locks = Leasehold.builder()
                .store("memory:")
                .workExecutor(task -> {
                    throw new RejectedExecutionException("full");
                })
                .connect()) {
            CompletableFuture<String> refused =
                    locks.named("x").holdWhile(PATIENCE, lease -> CompletableFuture.completedFuture("never"));
            assertThatThrownBy(() -> refused.get(30, TimeUnit.SECONDS))
                    .hasCauseInstanceOf(RejectedExecutionException.class);
            assertThat(locks.admin().inspect(LockName.exactly("x"))).isEmpty();
        }
    }

    @Test
    void workRunsOnVirtualThreadsWhereTheJdkHasThem() throws Exception {
        assumeTrue(Runtime.version().feature() >= 21, "virtual threads: run with -Dtest.jdk=/path/to/jdk-21 or newer");
        try (LockClient locks = Leasehold.connect("memory:")) {
            CompletableFuture<Boolean> virtual =
                    locks.named("x").holdWhile(PATIENCE, lease -> CompletableFuture.completedFuture(isVirtual()));
            assertThat(virtual.get(30, TimeUnit.SECONDS)).isTrue();
        }
    }

    private static boolean isVirtual() {
        try {
            return (boolean) Thread.class.getMethod("isVirtual").invoke(Thread.currentThread());
        } catch (ReflectiveOperationException e) {
            return false;
        }
    }

    /** A cancellation after the work has begun does not release the lock during the work. */
    @Test
    void cancellingLeavesTheLockToTheWorkThatHasBegun() throws Exception {
        try (LockClient locks = Leasehold.connect("memory:")) {
            CountDownLatch begun = new CountDownLatch(1);
            CompletableFuture<String> work = blocking(locks, 1, begun);
            begun.await();
            work.cancel(false);
            assertThat(locks.admin().inspect(LockName.exactly("work-1"))).isPresent();
            over.countDown();
            while (locks.admin().inspect(LockName.exactly("work-1")).isPresent()) {
                Thread.sleep(1);
            }
        }
    }

    @Test
    void cancellingReleasesTheLockThatWaitsForABusyExecutor() throws Exception {
        ExecutorService one = Executors.newSingleThreadExecutor(task -> new Thread(task, "mine"));
        try (LockClient locks =
                Leasehold.builder().store("memory:").workExecutor(one).connect()) {
            CountDownLatch begun = new CountDownLatch(1);
            CompletableFuture<String> busy = blocking(locks, 1, begun);
            begun.await();
            CompletableFuture<String> queued = blocking(locks, 2, new CountDownLatch(1));
            while (locks.admin().inspect(LockName.exactly("work-2")).isEmpty()) {
                Thread.sleep(1);
            }
            queued.cancel(false);
            try (Lease free = locks.named("work-2").tryAcquire(PATIENCE)) {
                assertThat(free).isNotNull();
            }
            over.countDown();
            assertThat(busy.get(30, TimeUnit.SECONDS)).isEqualTo("done");
        } finally {
            over.countDown();
            one.shutdown();
        }
    }

    /** The thread that delivers this answer of the store delivers all others, too. */
    @Test
    void anExecutorThatRunsWorkWhereItIsSubmittedHoldsUpNoReply() throws Exception {
        SilentStore store = new SilentStore();
        SystemLockRuntime runtime = new SystemLockRuntime();
        try (LockClient locks = Leasehold.builder()
                .store(store)
                .runtime(runtime)
                .workExecutor(Runnable::run)
                .connect()) {
            CompletableFuture<Thread> ran = locks.named("x")
                    .holdWhile(PATIENCE, lease -> CompletableFuture.completedFuture(Thread.currentThread()));
            var asked = store.acquires().get(0);
            asked.answer()
                    .complete(new AcquireReply.Granted(
                            new Grant(
                                    asked.request().owner(),
                                    TokenRange.of(1, 1),
                                    runtime.nanoTime(),
                                    Incarnation.DURABLE),
                            List.of()));
            assertThat(ran.get(30, TimeUnit.SECONDS)).isNotSameAs(Thread.currentThread());
        }
    }
}
