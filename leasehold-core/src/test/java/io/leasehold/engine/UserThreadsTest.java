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
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.TokenRange;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What users do in their callbacks and their work holds up neither a loss nor other work. */
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

    /** Puts many works in the way, has a lease lost, and looks whether its holder hears of it. */
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
            // Full with one work, and nothing else waits for it.
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

    /** Cancelling after the work has begun does not take the lock from under it. */
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

    /** The thread that brings the answer of the store brings all others, too. */
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

    // ---- no thread to be had

    /** Threads that cannot be started while the test says so. */
    private static final class Scarce implements ThreadFactory {
        final AtomicInteger failed = new AtomicInteger();
        volatile boolean none = true;

        @Override
        public Thread newThread(Runnable task) {
            Thread thread = new Thread(task) {
                @Override
                public synchronized void start() {
                    if (none) {
                        failed.incrementAndGet();
                        throw new OutOfMemoryError("unable to create native thread (made by the test)");
                    }
                    super.start();
                }
            };
            thread.setDaemon(true);
            return thread;
        }
    }

    /** However many callbacks wait for a thread, the timer thread fails once each time it looks. */
    @Test
    void callbacksThatWaitForAThreadAreTriedAsOne() throws Exception {
        Scarce threads = new Scarce();
        SystemLockRuntime runtime = new SystemLockRuntime(threads);
        CountDownLatch ran = new CountDownLatch(MANY);
        long beganAtNanos = runtime.nanoTime();
        for (int i = 0; i < MANY; i++) {
            runtime.execute(ran::countDown);
        }
        CompletableFuture<Integer> retries = new CompletableFuture<>();
        runtime.schedule(500_000_000, () -> retries.complete(threads.failed.get() - MANY));
        int retried = retries.get(60, TimeUnit.SECONDS);
        long looks = (runtime.nanoTime() - beganAtNanos) / 50_000_000;
        assertThat((long) retried).as("one for each look").isBetween(1L, looks + 1);
        threads.none = false;
        assertThat(ran.await(60, TimeUnit.SECONDS)).isTrue();
        runtime.close();
    }

    /** A future may depend on it. */
    @Test
    void callbacksThatWaitForAThreadRunWhenTheClientCloses() throws Exception {
        SystemLockRuntime runtime = new SystemLockRuntime(new Scarce());
        CountDownLatch ran = new CountDownLatch(MANY);
        for (int i = 0; i < MANY; i++) {
            runtime.execute(ran::countDown);
        }
        runtime.close();
        assertThat(ran.await(30, TimeUnit.SECONDS)).isTrue();
    }

    /** Each shortage ends, and has one line of the log. */
    @Test
    void eachShortageOfThreadsEndsAndIsToldOnce() throws Exception {
        Scarce threads = new Scarce();
        SystemLockRuntime runtime = new SystemLockRuntime(threads);
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try {
            for (int shortage = 1; shortage <= 2; shortage++) {
                int failed = threads.failed.get();
                CountDownLatch ran = new CountDownLatch(3);
                threads.none = true;
                for (int i = 0; i < 3; i++) {
                    // They keep their threads: the next shortage needs others.
                    runtime.execute(() -> {
                        ran.countDown();
                        awaitQuietly(over);
                    });
                }
                while (threads.failed.get() < failed + 5) {
                    Thread.sleep(5);
                }
                assertThat(ran.getCount()).isEqualTo(3);
                threads.none = false;
                assertThat(ran.await(60, TimeUnit.SECONDS)).isTrue();
                // The thread of timers finds out that no task is left before it does anything else.
                CountDownLatch noneIsLeft = new CountDownLatch(1);
                runtime.schedule(0, noneIsLeft::countDown);
                assertThat(noneIsLeft.await(60, TimeUnit.SECONDS)).isTrue();
            }
        } finally {
            System.setErr(before);
            over.countDown();
            runtime.close();
        }
        assertThat(log.toString(StandardCharsets.UTF_8).split("no thread could be started", -1))
                .as("what is around the two lines")
                .hasSize(3);
    }
}
