package io.leasehold.redis.topology;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * A connection for subscriptions, in whatever client library, for one life of it. Its futures fail with what the server has refused in
 * its own words. Safe for all threads; no method blocks.
 */
public interface PushConnection {

    /** The listener to messages, on the connection's thread; set before the first subscription. */
    interface Listener {
        /** A message, of whatever channel. */
        void message(String message);

        /** The subscription to a sharded channel has ended. */
        default void unsubscribed(String channel) {}
    }

    /** Sets the listener. */
    void listen(Listener listener);

    /** Subscribes to a channel. */
    CompletableFuture<Void> subscribe(String channel);

    /** Subscribes to a sharded channel. */
    CompletableFuture<Void> subscribeSharded(String channel);

    /** Ends subscriptions to sharded channels. */
    void unsubscribeSharded(List<String> channels);

    /** A sign of life. */
    CompletableFuture<Void> ping();

    /** Whether it takes commands. */
    boolean isOpen();

    /** Ends it, once. */
    void close();

    /** Registers the listener for its end. */
    void onEnd(Runnable listener);
}
