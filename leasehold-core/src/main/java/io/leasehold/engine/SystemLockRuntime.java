package io.leasehold.engine;

import io.leasehold.spi.LockRuntime;
import java.security.SecureRandom;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The real world: the only class of core that reads a clock, draws randomness or starts a thread.
 *
 * <p>One timer thread, which is there from the beginning, so that no duty depends on whether a thread can be started; a
 * thread for each callback and each work that runs, kept for ten seconds for the next one; work on virtual threads where
 * the JDK has them. Nothing waits for a thread of another. All are daemons. Where the system has no thread to give, the
 * task is tried again until it has.
 */
public final class SystemLockRuntime implements LockRuntime {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");
    private static final long RETRY_NANOS = 50_000_000L;

    private final ThreadFactory lateCallbacks = threads("leasehold-late-callback");
    private final SecureRandom secureRandom = new SecureRandom();
    private final ScheduledThreadPoolExecutor timers;
    private final ExecutorService callbacks = growing("leasehold-callback");
    private final Executor workers;

    /** A runtime of its own threads, for one client. */
    public SystemLockRuntime() {
        ThreadFactory virtual = virtualThreads("leasehold-work-");
        workers = virtual != null ? run -> virtual.newThread(run).start() : growing("leasehold-work");
        timers = new ScheduledThreadPoolExecutor(1, threads("leasehold-timer"));
        timers.setRemoveOnCancelPolicy(true);
        timers.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
        timers.prestartCoreThread();
    }

    private static ExecutorService growing(String name) {
        return new ThreadPoolExecutor(
                0, Integer.MAX_VALUE, 10, TimeUnit.SECONDS, new SynchronousQueue<>(), threads(name));
    }

    /** By reflection, since this class is compiled for a JDK without them; null there. */
    private static @Nullable ThreadFactory virtualThreads(String name) {
        try {
            Class<?> builder = Class.forName("java.lang.Thread$Builder");
            Object named = builder.getMethod("name", String.class, long.class)
                    .invoke(Thread.class.getMethod("ofVirtual").invoke(null), name, 1L);
            return (ThreadFactory) builder.getMethod("factory").invoke(named);
        } catch (ReflectiveOperationException e) {
            return null;
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
        start(callbacks, task);
    }

    @Override
    public void executeWork(Runnable task) {
        start(workers, task);
    }

    private void start(Executor threads, Runnable task) {
        try {
            threads.execute(() -> guarded(task));
        } catch (RejectedExecutionException e) {
            // After close(): a future of the user's may depend on it, and must not stay open for ever.
            lateCallbacks.newThread(() -> guarded(task)).start();
        } catch (OutOfMemoryError e) {
            LOG.error("no thread could be started for a task of the lock client; it is tried again", e);
            schedule(RETRY_NANOS, () -> start(threads, task));
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
        if (workers instanceof ExecutorService pool) {
            pool.shutdown();
        }
    }
}
