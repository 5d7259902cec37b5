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
 * The threads of one or several {@link Driver}s. They end with the last driver; the nodes of a set share them. Guarded
 * by {@code this}.
 */
public final class DriverThreads {

    private static final Logger LOG = LoggerFactory.getLogger(DriverThreads.class);
    private static final long SHUTDOWN_SECONDS = 2;

    private final ClientResources resources;
    private final boolean borrowed;
    private int users;

    /** Creates the threads; none has started yet. */
    public DriverThreads() {
        this(resources(), false);
    }

    /** Creates the resources and keeps the interrupt status, which Netty's timer clears when it starts. */
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

    /** Creates borrowed threads, which this object never ends. */
    static DriverThreads borrowed(ClientResources resources) {
        return new DriverThreads(resources, true);
    }

    /** Registers one more driver, which calls {@link #release} once. */
    synchronized ClientResources use() {
        users++;
        return resources;
    }

    /** Notes that a driver has closed its connections. After the last driver, ends the threads and waits for them. */
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
     * Waits for an end, even on an interrupted thread, which stays interrupted: if the threads ended before their
     * connections, these would never be closed. An interrupt restarts the wait, since no clock is read here.
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
