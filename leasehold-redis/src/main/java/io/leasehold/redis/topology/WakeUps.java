package io.leasehold.redis.topology;

import java.util.concurrent.CompletableFuture;

/** How a client is told of locks that became free: by channels that it subscribes to when the first waiter needs them. */
public interface WakeUps extends AutoCloseable {

    /** The channel for this lock. */
    String channel(String lockKey);

    /** The same for who is told of it over so long a time without asking again. */
    default String channel(String lockKey, long placeNanos) {
        return channel(lockKey);
    }

    /** Whether its messages come now. */
    boolean isLive(String lockKey);

    /** Begins to subscribe; completes with whether messages come, after the first try at the latest. */
    CompletableFuture<Boolean> started(String lockKey);

    /** Registers the listener for messages that come again after some may have been lost. */
    void onResubscribed(Runnable listener);

    @Override
    void close();
}
