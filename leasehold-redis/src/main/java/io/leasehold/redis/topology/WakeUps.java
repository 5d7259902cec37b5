package io.leasehold.redis.topology;

import io.leasehold.spi.Incarnation;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The wake-ups of a client for released locks: channels to which it subscribes when the first waiter needs them. */
public interface WakeUps extends AutoCloseable {

    /**
     * The connection that delivered a message.
     *
     * @param server the incarnation of the server, read on this very connection
     * @param sinceAtNanos since when the connection is subscribed
     */
    record Origin(Incarnation server, long sinceAtNanos) {}

    /** The listener to the messages of a client. */
    @FunctionalInterface
    interface Listener {
        /** Takes a message. */
        void message(String message);

        /**
         * Takes a message of one connection.
         *
         * @param origin the connection; null if its server is unknown, or also passes on messages of other servers
         */
        default void message(String message, @Nullable Origin origin) {
            message(message);
        }
    }

    /** The channel for this lock. */
    String channel(String lockKey);

    /** The channel for a waiter that relies on it for this long without a new request. */
    default String channel(String lockKey, long placeNanos) {
        return channel(lockKey);
    }

    /** Whether the channel of this lock is subscribed now. */
    boolean isLive(String lockKey);

    /**
     * Starts to subscribe. The future completes after the first try at the latest, and says whether messages arrive.
     */
    CompletableFuture<Boolean> started(String lockKey);

    /** Registers the listener that is called when messages arrive again after some may have been lost. */
    void onResubscribed(Runnable listener);

    @Override
    void close();
}
