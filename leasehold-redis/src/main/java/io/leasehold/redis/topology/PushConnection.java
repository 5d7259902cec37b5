package io.leasehold.redis.topology;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A connection for subscriptions. */
public interface PushConnection extends LiveConnection {

    /** The listener to messages. It is set before the first subscription and called on the connection's thread. */
    interface Listener {
        /** Takes a message of any channel. */
        void message(String message);

        /** Notes that the subscription to a sharded channel has ended. */
        default void unsubscribed(String channel) {}
    }

    /** Sets the listener. */
    void listen(Listener listener);

    /** Reads {@code INFO server}; only before the first subscription. */
    default CompletableFuture<String> serverInfo() {
        return CompletableFuture.failedFuture(new UnsupportedOperationException("this driver reads nothing here"));
    }

    /** Subscribes to a channel. */
    CompletableFuture<Void> subscribe(String channel);

    /** Subscribes to a sharded channel. */
    CompletableFuture<Void> subscribeSharded(String channel);

    /** Ends subscriptions to sharded channels, which may be those of several slots. */
    void unsubscribeSharded(List<String> channels);
}
