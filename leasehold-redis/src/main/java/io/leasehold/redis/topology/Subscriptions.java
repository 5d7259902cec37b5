package io.leasehold.redis.topology;

import io.leasehold.redis.wire.InfoText;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The one subscription of a client to a node: a {@link LastingConnection} with one channel. It is made when the first
 * waiter needs it.
 *
 * <p>While it is down, no waiter may rely on wake-ups: messages of that time are lost.
 */
final class Subscriptions implements WakeUps {

    private final String channel;
    private final LastingConnection<PushConnection> kept;
    private volatile @Nullable Subscription newest;

    /**
     * Creates the object; the subscription is not made yet.
     *
     * @param locator finds the address of the server before each connection
     * @param purpose the subject of the subscription, for messages
     * @param onMessage gets each message, on the connection's thread
     */
    Subscriptions(
            Driver driver,
            Connections.Locator locator,
            String channel,
            String purpose,
            RedisErrors errors,
            LockRuntime runtime,
            Listener onMessage) {
        this.channel = channel;
        this.kept = new LastingConnection<>(
                new LastingConnection.Making<>() {
                    @Override
                    public CompletableFuture<PushConnection> connect(RedisUri server) {
                        return StepLimit.ofPushes(driver, server, errors, runtime);
                    }

                    @Override
                    public CompletableFuture<Void> begin(PushConnection connection) {
                        Subscription begun = new Subscription(connection, runtime, onMessage);
                        newest = begun;
                        return begun.to(channel);
                    }
                },
                locator,
                purpose,
                errors,
                runtime);
    }

    /** One connection and its server. Each message gets the origin of the connection that delivered it. */
    private static final class Subscription {
        private final PushConnection connection;
        private final LockRuntime runtime;
        private volatile @Nullable Incarnation server;
        private volatile @Nullable Origin origin;

        Subscription(PushConnection connection, LockRuntime runtime, Listener onMessage) {
            this.connection = connection;
            this.runtime = runtime;
            connection.listen(message -> onMessage.message(message, connection.isOpen() ? origin : null));
        }

        /**
         * Subscribes without waiting for the answer about the server, which arrives first. Sentinels and servers of a
         * Cluster are not asked, since the origin of their messages is never compared.
         */
        CompletableFuture<Void> to(String channel) {
            if (Channels.namesWriter(channel)) {
                asked().thenAccept(info -> server = incarnation(info));
            }
            return connection.subscribe(channel).thenAccept(done -> {
                Incarnation told = server;
                origin = told == null ? null : new Origin(told, runtime.nanoTime());
            });
        }

        /** Asks the server for its run id. A server that does not report one can still wake waiters. */
        private CompletableFuture<String> asked() {
            try {
                return connection.serverInfo();
            } catch (RuntimeException | Error e) {
                return CompletableFuture.failedFuture(e);
            }
        }

        private static @Nullable Incarnation incarnation(String info) {
            String runId = InfoText.fields(info).get("run_id");
            return runId == null || runId.isEmpty() ? null : new Incarnation(runId);
        }
    }

    @Override
    public String channel(String lockKey) {
        return channel;
    }

    @Override
    public void onResubscribed(Runnable listener) {
        kept.onBegunAgain(listener);
    }

    @Override
    public boolean isLive(String lockKey) {
        return kept.current() != null;
    }

    @Override
    public CompletableFuture<Boolean> started(String lockKey) {
        return kept.started();
    }

    /** Closes the subscription if the server has moved: messages do not arrive at the former address. */
    void leaveUnlessStillThere() {
        kept.leaveUnlessStillThere();
    }

    /**
     * Makes the subscription anew unless it is known to be at this life of a server, after a new link to it was made. The
     * same name may lead to another server now, while the former one keeps its connections: its messages do not come from
     * clients of the present one.
     */
    void leaveUnlessAt(Incarnation server) {
        Subscription last = newest;
        if (last == null || !server.equals(last.server)) {
            kept.leave();
        }
    }

    /** Makes no more subscriptions; the driver closes the last one. */
    @Override
    public void close() {
        kept.close();
    }
}
