package io.leasehold.jedis;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The threads of one store over Jedis, whose calls block. Each connection has two threads, which end with it. At most
 * {@value #MAX_CONNECTING} more threads make connections; a further connection is refused at once. Safe for all
 * threads.
 */
final class JedisThreads {

    static final int MAX_CONNECTING = 32;

    private static final Logger LOG = LoggerFactory.getLogger(JedisThreads.class);
    private static final long IDLE_SECONDS = 5;
    private static final long END_NANOS = TimeUnit.SECONDS.toNanos(4);

    private final String store;
    private final AtomicInteger numbers = new AtomicInteger();
    private final ConcurrentHashMap.KeySetView<Thread, Boolean> running = ConcurrentHashMap.newKeySet();
    private final ThreadPoolExecutor connecting = new ThreadPoolExecutor(
            0,
            MAX_CONNECTING,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            work -> named("connects", work));

    JedisThreads(String store) {
        this.store = store;
    }

    private Thread named(String verb, Runnable work) {
        Thread thread = new Thread(work, "leasehold-jedis-" + verb + "-" + numbers.incrementAndGet());
        thread.setDaemon(true);
        return thread;
    }

    /** Starts a separate thread for a connection. */
    void start(String verb, Runnable work) {
        Thread thread = named(verb, () -> {
            try {
                work.run();
            } finally {
                running.remove(Thread.currentThread());
            }
        });
        running.add(thread);
        boolean started = false;
        try {
            thread.start();
            started = true;
        } finally {
            if (!started) {
                running.remove(thread);
            }
        }
    }

    /**
     * Runs a task that connects; never throws.
     *
     * @param refused fails at once if too many connections are being made, after the close, or if no thread can be
     *     started
     */
    void connect(Runnable work, CompletableFuture<?> refused) {
        try {
            connecting.execute(work);
        } catch (RejectedExecutionException e) {
            refused.completeExceptionally(new IllegalStateException(
                    connecting.isShutdown()
                            ? "the store is closed"
                            : MAX_CONNECTING + " connections are being made already, and none of them makes progress",
                    e));
        } catch (Error e) {
            // For example if the system has no more threads.
            refused.completeExceptionally(e);
        }
    }

    /**
     * Waits until the connections that were closed have ended. An interrupt does not end the wait; the thread stays
     * interrupted.
     */
    void close() {
        connecting.shutdown();
        boolean interrupted = false;
        long begun = System.nanoTime();
        all:
        for (Thread thread : running) {
            while (thread != Thread.currentThread() && thread.isAlive()) {
                long leftMillis = TimeUnit.NANOSECONDS.toMillis(END_NANOS - (System.nanoTime() - begun));
                if (leftMillis <= 0) {
                    LOG.warn("the connections to {} did not end within 4 s", store);
                    break all;
                }
                try {
                    thread.join(leftMillis);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
