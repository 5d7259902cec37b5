package io.leasehold.redis.topology;

import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.CredentialsDesk;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * The part of one client in a driver that several clients of a process share: its threads and its connections for
 * requests. A question, a subscription, a {@code WAIT} and the tracking of keys have separate connections.
 *
 * <p>{@link #close} ends the connections and parts of this client. It also ends the driver if no other client uses it.
 * If another one does, it does not wait until the server has noticed the end of the connections.
 */
final class SharedDriver implements Driver {

    private final Shared shared;
    private final LockRuntime runtime;
    private final Runnable onClose;
    /** The connections and parts of this client, each with the action that ends it. */
    private final Map<Object, Runnable> open = new ConcurrentHashMap<>();

    private volatile boolean closing;

    private final SharedLines.Client asClient = new SharedLines.Client() {
        @Override
        public LockRuntime runtime() {
            return runtime;
        }

        @Override
        public void has(SharedConnection part) {
            note(part, Kind.COMMANDS);
        }

        @Override
        public boolean isOpen() {
            return !closing;
        }
    };

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

    /** The operations on a kind of connection. */
    private record Kind<C>(Consumer<C> end, BiConsumer<C, Runnable> onEnd, Predicate<C> isOpen) {
        static final Kind<RedisConnection> COMMANDS =
                new Kind<>(RedisConnection::giveBack, RedisConnection::onEnd, RedisConnection::isOpen);

        static <L extends LiveConnection> Kind<L> live() {
            return new Kind<>(LiveConnection::close, LiveConnection::onEnd, LiveConnection::isOpen);
        }
    }

    @Override
    public void logInWith(CredentialsDesk desk) {
        // With a provider, no other client has this driver.
        shared.driver.logInWith(desk);
    }

    @Override
    public CompletableFuture<RedisConnection> connect(RedisUri server) {
        return mine(() -> shared.driver.connect(server), Kind.COMMANDS);
    }

    @Override
    public CompletableFuture<RedisConnection> connectForLink(RedisUri server) {
        // Link.close ends both connections of a link that waits for replicas.
        return server.acknowledgement().isWanted()
                ? connect(server)
                : mine(() -> shared.links.connect(server, asClient).thenApply(part -> part), Kind.COMMANDS);
    }

    @Override
    public CompletableFuture<PushConnection> connectForPushes(RedisUri server) {
        return mine(() -> shared.driver.connectForPushes(server), Kind.live());
    }

    @Override
    public CompletableFuture<TrackingConnection> connectForTracking(RedisUri server) {
        return mine(() -> shared.driver.connectForTracking(server), Kind.live());
    }

    private <C> CompletableFuture<C> mine(Supplier<CompletableFuture<C>> connecting, Kind<C> kind) {
        if (closing) {
            return refusedByClose();
        }
        return connecting.get().thenCompose(made -> {
            note(made, kind);
            return closing ? refusedByClose() : CompletableFuture.completedFuture(made);
        });
    }

    private <C> void note(C made, Kind<C> kind) {
        if (open.putIfAbsent(made, () -> kind.end.accept(made)) == null) {
            kind.onEnd.accept(made, () -> open.remove(made));
        }
        if (!kind.isOpen.test(made)) {
            // It may have ended before the listener was there.
            open.remove(made);
        }
        if (closing) {
            end(made);
        }
    }

    private static <C> CompletableFuture<C> refusedByClose() {
        return CompletableFuture.failedFuture(new IOException("the client was closed"));
    }

    private void end(Object made) {
        Runnable ending = open.remove(made);
        if (ending != null) {
            Isolated.run(ending);
        }
    }

    @Override
    public void close() {
        closing = true;
        try {
            open.keySet().forEach(this::end);
        } finally {
            onClose.run();
        }
    }
}
