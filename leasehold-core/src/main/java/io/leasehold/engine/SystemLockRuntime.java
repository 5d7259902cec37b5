package io.leasehold.engine;

import io.leasehold.spi.LockRuntime;
import java.security.SecureRandom;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The real world: the only class of core that reads a clock, draws randomness or starts a thread.
 *
 * <p>One timer thread, and callback threads as needed, at most {@value #CALLBACK_THREADS}, so that a callback that blocks
 * harms nobody else; all are daemons and end when idle.
 */
public final class SystemLockRuntime implements LockRuntime {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");
    private static final int CALLBACK_THREADS = 64;

    private final ThreadFactory lateCallbacks = threads("leasehold-late-callback");
    private final SecureRandom secureRandom = new SecureRandom();
    private final ScheduledThreadPoolExecutor timers;
    private final ThreadPoolExecutor callbacks;

    /** A runtime of its own threads, for one client. */
    public SystemLockRuntime() {
        timers = new ScheduledThreadPoolExecutor(1, threads("leasehold-timer"));
        timers.setRemoveOnCancelPolicy(true);
        timers.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
        timers.setKeepAliveTime(10, TimeUnit.SECONDS);
        timers.allowCoreThreadTimeOut(true);
        Handing queue = new Handing();
        callbacks = new ThreadPoolExecutor(
                0, CALLBACK_THREADS, 10, TimeUnit.SECONDS, queue, threads("leasehold-callback"), queue::putBack);
    }

    /** Takes a task only if a thread is idle, so that the pool grows while threads are busy, then keeps it. */
    private static final class Handing extends LinkedTransferQueue<Runnable> {
        private static final long serialVersionUID = 1L;

        @Override
        public boolean offer(Runnable task) {
            return tryTransfer(task);
        }

        void putBack(Runnable task, ThreadPoolExecutor pool) {
            if (pool.isShutdown()) {
                throw new RejectedExecutionException("the callback executor is closed");
            }
            put(task);
            if (pool.getPoolSize() == 0) {
                // All threads ended just now: this one finds the task.
                pool.execute(() -> {});
            }
        }
    }

    private static ThreadFactory threads(String name) {
        AtomicInteger count = new AtomicInteger();
        return task -> {
            Thread thread = new Thread(task, name + "-" + count.incrementAndGet());
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
            ScheduledFuture<?> scheduled =
                    timers.schedule(() -> guarded(task), Math.max(0, delayNanos), TimeUnit.NANOSECONDS);
            return () -> scheduled.cancel(false);
        } catch (RejectedExecutionException e) {
            // After close() nothing is renewed or told any more; leases end by themselves.
            return () -> {};
        }
    }

    @Override
    public void execute(Runnable task) {
        try {
            callbacks.execute(() -> guarded(task));
        } catch (RejectedExecutionException e) {
            // After close(): a future of the user's may depend on it, and must not stay open for ever.
            lateCallbacks.newThread(() -> guarded(task)).start();
        }
    }

    private static void guarded(Runnable task) {
        try {
            task.run();
        } catch (RuntimeException | Error e) {
            LOG.error("a task of the lock client failed", e);
        }
    }

    @Override
    public void randomBytes(byte[] bytes) {
        secureRandom.nextBytes(bytes);
    }

    @Override
    public long randomBelow(long bound) {
        return ThreadLocalRandom.current().nextLong(bound);
    }

    @Override
    public void await(CompletableFuture<?> future) throws InterruptedException {
        try {
            future.get();
        } catch (ExecutionException | CancellationException e) {
            // Done is all that is asked here; the caller reads the result.
            return;
        }
    }

    @Override
    public void close() {
        timers.shutdownNow();
        callbacks.shutdown();
    }
}
