package io.leasehold.redis.topology;

import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.CredentialsDesk;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The part of one client in a driver that several clients of a process share: its threads and its connections for
 * requests. A question, a subscription, a {@code WAIT} and the tracking of keys have separate connections.
 *
 * <p>{@link #close} ends the connections and parts of this client. It also ends the driver if no other client uses it.
 */
final class SharedDriver implements Driver {

    private final Shared shared;
    private final LockRuntime runtime;
    private final Runnable onClose;
    /** The connections and parts of this client, each with the action that ends it. */
    private final Map<Object, Runnable> open = new ConcurrentHashMap<>();

    private volatile boolean closing;

    /**
     * Creates the driver of one client.
     *
     * @param runtime the client's own
     * @param onClose called after the connections and parts of this client have ended
     */
    SharedDriver(Shared shared, LockRuntime runtime, Runnable onClose) {
        this.shared = shared;
        this.runtime = runtime;
        this.onClose = onClose;
    }

    /** A driver and its connections, for several clients. */
    static final class Shared {
        private final Driver driver;
        private final SharedLines links;

        Shared(Driver driver) {
            this.driver = driver;
            this.links = new SharedLines(driver);
        }

        /** Ends all connections and threads. */
        void close() {
            driver.close();
        }
    }

    @Override
    public void logInWith(CredentialsDesk desk) {
        // With a provider, no other client has this driver.
        shared.driver.logInWith(desk);
    }

    @Override
    public CompletableFuture<RedisConnection> connect(RedisUri server) {
        return mine(() -> shared.driver.connect(server), RedisConnection::close, RedisConnection::onEnd);
    }

    @Override
    public CompletableFuture<RedisConnection> connectForLink(RedisUri server) {
        // Link.close ends both connections of a link that waits for replicas.
        return server.acknowledgement().isWanted()
                ? connect(server)
                : mine(() -> shared.links.connect(server, runtime), SharedConnection::detach, SharedConnection::onEnd)
                        .thenApply(part -> part);
    }

    @Override
    public CompletableFuture<PushConnection> connectForPushes(RedisUri server) {
        return mine(() -> shared.driver.connectForPushes(server), LiveConnection::close, LiveConnection::onEnd);
    }

    @Override
    public CompletableFuture<TrackingConnection> connectForTracking(RedisUri server) {
        return mine(() -> shared.driver.connectForTracking(server), LiveConnection::close, LiveConnection::onEnd);
    }

    private <C> CompletableFuture<C> mine(
            Supplier<CompletableFuture<C>> connecting, Consumer<? super C> end, BiConsumer<? super C, Runnable> onEnd) {
        if (closing) {
            return refusedByClose();
        }
        return connecting.get().thenCompose(made -> {
            open.put(made, () -> end.accept(made));
            onEnd.accept(made, () -> open.remove(made));
            if (!closing) {
                return CompletableFuture.completedFuture(made);
            }
            end(made);
            return refusedByClose();
        });
    }

    private static <C> CompletableFuture<C> refusedByClose() {
        return CompletableFuture.failedFuture(new IOException("the client was closed"));
    }

    private void end(Object made) {
        Runnable ending = open.remove(made);
        if (ending != null) {
            ending.run();
        }
    }

    @Override
    public void close() {
        closing = true;
        open.keySet().forEach(this::end);
        onClose.run();
    }
}
