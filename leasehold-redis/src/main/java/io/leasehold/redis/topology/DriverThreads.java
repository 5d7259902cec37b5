package io.leasehold.redis.topology;

import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.lettuce.core.resource.ClientResources;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The threads of one or several {@link Driver}s, which end with the last of them: the nodes of a set share theirs. Guarded by
 * itself.
 */
public final class DriverThreads {

    private static final Logger LOG = LoggerFactory.getLogger(DriverThreads.class);
    private static final long SHUTDOWN_SECONDS = 2;

    private final ClientResources resources;
    private final boolean borrowed;
    private int users;

    /** No thread has begun yet. */
    public DriverThreads() {
        this(resources(), false);
    }

    /** Netty's timer forgets that the thread which starts it was interrupted. */
    private static ClientResources resources() {
        boolean interrupted = Thread.interrupted();
        try {
            return ClientResources.builder()
                    .ioThreadPoolSize(2)
                    .computationThreadPoolSize(2)
                    .commandLatencyRecorder(CommandLatencyRecorder.disabled())
                    .build();
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private DriverThreads(ClientResources resources, boolean borrowed) {
        this.resources = resources;
        this.borrowed = borrowed;
    }

    /** Borrowed threads, which are never ended. */
    static DriverThreads borrowed(ClientResources resources) {
        return new DriverThreads(resources, true);
    }

    /** For one driver more, which {@link #release}s them once. */
    synchronized ClientResources use() {
        users++;
        return resources;
    }

    /** A driver has ended its connections; the last one ends the threads, and waits for them. */
    void release() {
        synchronized (this) {
            users--;
            if (users > 0 || borrowed) {
                return;
            }
        }
        if (!isDoneWithin(resources.shutdown(0, SHUTDOWN_SECONDS, TimeUnit.SECONDS), SHUTDOWN_SECONDS)) {
            LOG.warn("the threads of the connections did not end within {} s", SHUTDOWN_SECONDS);
        }
    }

    /**
     * Waits for an end, also on a thread that is interrupted, and stays so: connections whose threads have ended before them
     * are never closed. An interrupt begins the wait anew, since no clock is read here.
     */
    static boolean isDoneWithin(Future<?> end, long seconds) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    end.get(seconds, TimeUnit.SECONDS);
                    return true;
                } catch (InterruptedException e) {
                    interrupted = true;
                } catch (ExecutionException | TimeoutException e) {
                    return false;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
