package io.leasehold.testkit.tck;

import io.leasehold.spi.LockRuntime;
import java.security.SecureRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/** The world as it is, for stores under test: one timer thread, and callback threads as needed. */
final class WallTimeRuntime implements LockRuntime {

    private final ScheduledExecutorService timers = Executors.newSingleThreadScheduledExecutor(daemon("tck-timer"));
    private final ExecutorService callbacks = Executors.newCachedThreadPool(daemon("tck-callback"));
    private final SecureRandom random = new SecureRandom();

    private static ThreadFactory daemon(String name) {
        return task -> {
            Thread thread = new Thread(task, name);
            thread.setDaemon(true);
            return thread;
        };
    }

    @Override
    public long nanoTime() {
        return System.nanoTime();
    }

    @Override
    public long wallMillis() {
        return System.currentTimeMillis();
    }

    @Override
    public Timer schedule(long delayNanos, Runnable task) {
        try {
            ScheduledFuture<?> scheduled = timers.schedule(task, Math.max(0, delayNanos), TimeUnit.NANOSECONDS);
            return () -> scheduled.cancel(false);
        } catch (RejectedExecutionException e) {
            return () -> {};
        }
    }

    @Override
    public void execute(Runnable task) {
        try {
            callbacks.execute(task);
        } catch (RejectedExecutionException e) {
            // Closed: nobody waits for callbacks any more.
            return;
        }
    }

    @Override
    public void randomBytes(byte[] bytes) {
        random.nextBytes(bytes);
    }

    @Override
    public long randomBelow(long bound) {
        return random.nextLong(bound);
    }

    @Override
    public void await(CompletableFuture<?> future) throws InterruptedException {
        CountDownLatch done = new CountDownLatch(1);
        future.whenComplete((value, error) -> done.countDown());
        done.await();
    }

    @Override
    public void close() {
        timers.shutdownNow();
        callbacks.shutdown();
    }
}
