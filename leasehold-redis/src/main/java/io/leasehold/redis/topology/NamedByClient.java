package io.leasehold.redis.topology;

import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.LockRuntime;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** The master that a client library hears of from Sentinels: it is looked at twice a second. State is guarded by {@code this}. */
final class NamedByClient implements Naming {

    private static final long LOOK_NANOS = 500_000_000L;

    private final Supplier<RedisUri> master;
    private final LockRuntime runtime;
    private final Consumer<RedisUri> onNamed;
    private boolean watching;
    private boolean closed;

    /**
     * Asks nothing yet.
     *
     * @param master never blocks
     * @param onNamed takes the master at every look, whether it is another or not, since a link to a former one may be made a moment after the
     *     change; and when it was asked for
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
