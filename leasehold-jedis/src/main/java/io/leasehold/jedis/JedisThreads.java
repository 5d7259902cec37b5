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
 * The threads of one store over Jedis, whose calls block: two for each connection, which end with it, and at most {@value
 * #MAX_CONNECTING} for connections that are being made; one more is refused, and waits for nothing. Safe for all threads.
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

    /** A thread of its own for a connection. */
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
     * Runs what connects; never throws.
     *
     * @param refused fails at once if too much connects already, after the close, or without a thread for it
     */
    void connect(Runnable work, CompletableFuture<?> refused) {
        try {
            connecting.execute(work);
        } catch (RejectedExecutionException e) {
            refused.completeExceptionally(new IllegalStateException(
                    connecting.isShutdown()
                            ? "the store is closed"
                            : MAX_CONNECTING + " connections are being made already, and none of them gets on",
                    e));
        } catch (Error e) {
            // As where the system has no more threads.
            refused.completeExceptionally(e);
        }
    }

    /** Waits for the ends of those that were told to end, also on a thread that is interrupted, which it stays. */
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
