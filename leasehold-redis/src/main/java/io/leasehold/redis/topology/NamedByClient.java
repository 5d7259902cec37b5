package io.leasehold.redis.topology;

import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.LockRuntime;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The master that a client library learns from Sentinels; this class polls it twice a second. State is guarded by
 * {@code this}.
 */
final class NamedByClient implements Naming {

    private static final long LOOK_NANOS = 500_000_000L;

    private final Supplier<RedisUri> master;
    private final LockRuntime runtime;
    private final Consumer<RedisUri> onNamed;
    private boolean watching;
    private boolean closed;

    /**
     * Creates the object; it does not poll yet.
     *
     * @param master returns the current master and never blocks
     * @param onNamed gets the master at every poll and after every {@link #ask}, even if it has not changed: a link to
     *     a former master may be made a moment after the change
     */
    NamedByClient(Supplier<RedisUri> master, LockRuntime runtime, Consumer<RedisUri> onNamed) {
        this.master = master;
        this.runtime = runtime;
        this.onNamed = onNamed;
    }

    @Override
    public CompletableFuture<RedisUri> locate() {
        try {
            return CompletableFuture.completedFuture(master.get());
        } catch (RuntimeException | Error e) {
            return CompletableFuture.failedFuture(
                    e instanceof StoreUnavailableException
                            ? e
                            : new StoreUnavailableException(
                                    "the client does not name the master: " + e.getMessage(), e));
        }
    }

    @Override
    public void watch() {
        synchronized (this) {
            if (watching || closed) {
                return;
            }
            watching = true;
        }
        later();
    }

    private void later() {
        runtime.schedule(LOOK_NANOS, () -> {
            if (isClosed()) {
                return;
            }
            locate().thenAccept(onNamed);
            later();
        });
    }

    @Override
    public void ask() {
        if (!isClosed()) {
            locate().thenAccept(onNamed);
        }
    }

    private synchronized boolean isClosed() {
        return closed;
    }

    @Override
    public synchronized void close() {
        closed = true;
    }
}
