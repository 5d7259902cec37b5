package io.leasehold.engine;

import io.leasehold.spi.LockRuntime;
import java.security.SecureRandom;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
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
 * The runtime of the system: the only class of core that reads a clock, draws randomness or starts a thread.
 *
 * <p>One timer thread is started at construction, so that no duty depends on whether a thread can be started later.
 * Each running callback and work has its own thread, which is kept for ten seconds for reuse. Where the JDK has virtual
 * threads, work runs on those. No task waits for the thread of another, except where work on a virtual thread pins its
 * carrier (JDK 21 to 23, inside {@code synchronized}). All threads are daemons. If the system cannot start a thread,
 * the waiting tasks are retried, in order, until it can.
 */
public final class SystemLockRuntime implements LockRuntime {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");
    private static final long RETRY_NANOS = 50_000_000L;

    private final ThreadFactory lateCallbacks = threads("leasehold-late-callback");
    private final SecureRandom secureRandom = new SecureRandom();
    private final ScheduledThreadPoolExecutor timers;
    private final ExecutorService callbacks;
    private final Executor workers;
    /** The tasks for which no thread could be started; guarded by itself, as are the flags. */
    private final Deque<Unstarted> unstarted = new ArrayDeque<>();

    private boolean retrying;
    private boolean closed;

    private record Unstarted(Executor threads, Runnable task) {
        void start() {
            threads.execute(() -> guarded(task));
        }
    }

    /** Creates a runtime with its own threads, for one client. */
    public SystemLockRuntime() {
        this(threads("leasehold-callback"));
    }

    SystemLockRuntime(ThreadFactory callbackThreads) {
        callbacks = growing(callbackThreads);
        ThreadFactory virtual = virtualThreads("leasehold-work-");
        workers = virtual != null ? run -> virtual.newThread(run).start() : growing(threads("leasehold-work"));
        timers = new ScheduledThreadPoolExecutor(1, threads("leasehold-timer"));
        timers.setRemoveOnCancelPolicy(true);
        timers.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
        timers.prestartCoreThread();
    }

    private static ExecutorService growing(ThreadFactory threads) {
        return new ThreadPoolExecutor(0, Integer.MAX_VALUE, 10, TimeUnit.SECONDS, new SynchronousQueue<>(), threads);
    }

    /**
     * Returns the virtual threads of this JDK; null if it has none. Uses reflection, since this class is compiled for a
     * JDK without them.
     */
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
            // After close() there are no renewals or callbacks; leases end by themselves.
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
        Unstarted next = new Unstarted(threads, task);
        try {
            next.start();
        } catch (RejectedExecutionException e) {
            // After close(): a user's future may depend on the task, and must not stay incomplete forever.
            lateCallbacks.newThread(() -> guarded(task)).start();
        } catch (OutOfMemoryError e) {
            keep(next, e);
        }
    }

    /**
     * Keeps a task for a retry. One timer serves all waiting tasks: a thousand of them cost the timer thread one
     * failure, and the log one line.
     */
    private void keep(Unstarted task, OutOfMemoryError why) {
        boolean isNews;
        synchronized (unstarted) {
            if (closed) {
                throw why;
            }
            isNews = !retrying;
            if (isNews) {
                retryLater();
            }
            unstarted.addLast(task);
        }
        if (isNews) {
            LOG.error("no thread could be started for a task of the lock client; it is retried until one can be", why);
        }
    }

    private void retryLater() {
        schedule(RETRY_NANOS, this::retry);
        retrying = true;
    }

    /** Starts tasks up to the first failure; the following ones would fail, too. */
    private void retry() {
        synchronized (unstarted) {
            retrying = false;
            for (Unstarted next; (next = unstarted.peekFirst()) != null; unstarted.removeFirst()) {
                try {
                    next.start();
                } catch (OutOfMemoryError e) {
                    // If this fails, the next task that finds no thread arms the timer.
                    retryLater();
                    return;
                }
            }
        }
    }

    /**
     * Runs a task after close(), since a future may depend on it: on a new thread, or on this one if none can be
     * started.
     */
    private void runLate(Runnable task) {
        try {
            lateCallbacks.newThread(() -> guarded(task)).start();
        } catch (OutOfMemoryError e) {
            guarded(task);
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
    public Timer onExit(Runnable task) {
        Thread hook = new Thread(() -> guarded(task), "leasehold-exit");
        try {
            Runtime.getRuntime().addShutdownHook(hook);
        } catch (IllegalStateException e) {
            LOG.warn("the JVM is exiting already: a lock client that was made now is not closed by the exit");
            return () -> {};
        }
        return () -> {
            try {
                Runtime.getRuntime().removeShutdownHook(hook);
            } catch (IllegalStateException e) {
                LOG.debug("the JVM is exiting: its hook runs, and finds nothing to do", e);
            }
        };
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
            // Only completion matters here; the caller reads the result.
            return;
        }
    }

    @Override
    public void close() {
        List<Unstarted> left;
        synchronized (unstarted) {
            closed = true;
            left = List.copyOf(unstarted);
            unstarted.clear();
        }
        timers.shutdownNow();
        callbacks.shutdown();
        if (workers instanceof ExecutorService pool) {
            pool.shutdown();
        }
        left.forEach(task -> runLate(task.task()));
    }
}
