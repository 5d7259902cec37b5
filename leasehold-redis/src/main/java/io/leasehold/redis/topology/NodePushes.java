package io.leasehold.redis.topology;

import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * One connection to one node of a Cluster for sharded channels. When it ends, a new object takes its place.
 *
 * <p>{@link SignsOfLife} detects a peer that has silently gone. Safe for all threads.
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
    private final CompletableFuture<PushConnection> connection = new CompletableFuture<>();

    /** The listener for subscriptions that end by themselves. */
    interface Ends {
        /** Notes that the server has ended the subscription to one channel. */
        void unsubscribed(String channel);

        /** Notes that all subscriptions of this object have ended or that none could be made. */
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

    /** Connects once. The owner must register this object before, since its end may be reported at once. */
    void open() {
        StepLimit.ofPushes(driver, node, errors, runtime).whenComplete((made, error) -> {
            if (error != null) {
                lost();
                // A refused login is not a refusal of the subscription, which is retried soon.
                connection.completeExceptionally(errors.unreachable(error));
                return;
            }
            try {
                watch(made);
                connection.complete(made);
            } catch (RuntimeException | Error e) {
                // Without this, callers that subscribe would wait forever.
                made.close();
                lost();
                connection.completeExceptionally(e);
                return;
            }
            if (!made.isOpen()) {
                // The connection ended before the listener for its end could notice.
                made.close();
                lost();
            }
        });
    }

    private void watch(PushConnection made) {
        made.listen(new PushConnection.Listener() {
            @Override
            public void message(String message) {
                onMessage.accept(message);
            }

            @Override
            public void unsubscribed(String channel) {
                ends.unsubscribed(channel);
            }
        });
        made.onEnd(() -> {
            made.close();
            lost();
        });
        SignsOfLife.watch(made, runtime, errors, () -> !over.get(), made::close);
    }

    /** The address of the node. */
    String address() {
        return node.address();
    }

    /** Subscribes to one more channel. */
    CompletableFuture<Void> subscribe(String channel) {
        return connection.thenCompose(made -> made.subscribeSharded(channel).whenComplete((done, error) -> {
            if (error != null) {
                refusals.of(error);
            }
        }));
    }

    /** Ends subscriptions that no waiter needs any more. */
    void unsubscribe(List<String> channels) {
        connection.thenAccept(made -> made.unsubscribeSharded(channels));
    }

    /** Closes the connection, since no waiter needs it any more. */
    void close() {
        connection.thenAccept(PushConnection::close);
    }

    private void lost() {
        if (over.compareAndSet(false, true)) {
            ends.lost(this);
        }
    }
}
