package io.leasehold.redis.topology;

import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * One connection to one node of a Cluster for sharded channels; when it ends it is not made again, but another takes its place.
 *
 * <p>A peer that is gone without a word is found by {@link SignsOfLife}. Safe for all threads.
 */
final class NodePushes {

    private final Driver driver;
    private final RedisUri node;
    private final RedisErrors errors;
    private final LockRuntime runtime;
    private final Consumer<String> onMessage;
    private final Ends ends;
    private final SubscriptionRefusals refusals;
    private final AtomicBoolean over = new AtomicBoolean();
    private final CompletableFuture<StatefulRedisPubSubConnection<String, String>> connection =
            new CompletableFuture<>();

    /** Who is told of what ends by itself. */
    interface Ends {
        /** The server has ended the subscription to one channel. */
        void unsubscribed(String channel);

        /** All subscriptions of these pushes have ended, or none could be made. */
        void lost(NodePushes all);
    }

    NodePushes(
            Driver driver,
            RedisUri node,
            RedisErrors errors,
            LockRuntime runtime,
            Consumer<String> onMessage,
            Ends ends) {
        this.driver = driver;
        this.node = node;
        this.errors = errors;
        this.refusals = new SubscriptionRefusals("wake-ups", errors);
        this.runtime = runtime;
        this.onMessage = onMessage;
        this.ends = ends;
    }

    /** Connects, once: its owner has to know it before, since its end may be told at once. */
    void open() {
        Patience.limited(driver.connectForPushes(node), driver, errors, runtime).whenComplete((made, error) -> {
            if (error != null) {
                lost();
                connection.completeExceptionally(error);
                return;
            }
            made.addListener(new RedisPubSubAdapter<String, String>() {
                @Override
                public void smessage(String channel, String message) {
                    onMessage.accept(message);
                }

                @Override
                public void sunsubscribed(String channel, long count) {
                    ends.unsubscribed(channel);
                }
            });
            made.addListener(new RedisConnectionStateListener() {
                @Override
                public void onRedisDisconnected(RedisChannelHandler<?, ?> ended) {
                    driver.end(made);
                    lost();
                }
            });
            SignsOfLife.watch(made, runtime, errors, () -> !over.get(), () -> driver.end(made));
            connection.complete(made);
            if (!made.isOpen()) {
                // It ended before its end could be noticed.
                driver.end(made);
                lost();
            }
        });
    }

    /** Where it leads. */
    String address() {
        return node.address();
    }

    /** Subscribes to one channel more. */
    CompletableFuture<Void> subscribe(String channel) {
        return connection.thenCompose(made -> made.async()
                .ssubscribe(channel)
                .toCompletableFuture()
                .whenComplete((done, error) -> {
                    if (error != null) {
                        refusals.of(error);
                    }
                }));
    }

    /** Ends subscriptions that nobody needs any more. */
    void unsubscribe(List<String> channels) {
        connection.thenAccept(made -> made.async().sunsubscribe(channels.toArray(String[]::new)));
    }

    /** Nobody waits there any more. */
    void close() {
        connection.thenAccept(driver::end);
    }

    private void lost() {
        if (over.compareAndSet(false, true)) {
            ends.lost(this);
        }
    }
}
