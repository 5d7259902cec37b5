package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The callbacks for which the system cannot start a thread. */
@Tag("quick")
@Timeout(120)
final class ThreadShortageTest {

    private static final int MANY = 200;

    private final CountDownLatch over = new CountDownLatch(1);

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** A factory that cannot start threads while the test says so. */
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

    /** However many callbacks wait for a thread, each retry costs the timer thread one failure. */
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

    /** A future may depend on the callback. */
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

    /** Each shortage ends, and causes one line in the log. */
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
                    // These tasks keep their threads: the next shortage needs others.
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
                // The timer thread detects that no task is left before it does anything else.
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
