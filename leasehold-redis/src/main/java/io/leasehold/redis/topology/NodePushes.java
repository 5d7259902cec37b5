package io.leasehold.redis.topology;

import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
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
    private final CompletableFuture<PushConnection> connection = new CompletableFuture<>();

    /** The listener for subscriptions that end by themselves. */
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
        StepLimit.ofPushes(driver, node, errors, runtime).whenComplete((made, error) -> {
            if (error != null) {
                lost();
                // That the login is refused says nothing of the subscription, which is tried again soon.
                connection.completeExceptionally(errors.unreachable(error));
                return;
            }
            try {
                watch(made);
                connection.complete(made);
            } catch (RuntimeException | Error e) {
                // Else those that subscribe would wait for ever.
                made.close();
                lost();
                connection.completeExceptionally(e);
                return;
            }
            if (!made.isOpen()) {
                // It ended before its end could be noticed.
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

    /** Where it leads. */
    String address() {
        return node.address();
    }

    /** Subscribes to one channel more. */
    CompletableFuture<Void> subscribe(String channel) {
        return connection.thenCompose(made -> made.subscribeSharded(channel).whenComplete((done, error) -> {
            if (error != null) {
                refusals.of(error);
            }
        }));
    }

    /** Ends subscriptions that nobody needs any more. */
    void unsubscribe(List<String> channels) {
        connection.thenAccept(made -> made.unsubscribeSharded(channels));
    }

    /** Ends these pushes: no waiter is left there. */
    void close() {
        connection.thenAccept(PushConnection::close);
    }

    private void lost() {
        if (over.compareAndSet(false, true)) {
            ends.lost(this);
        }
    }
}
