package io.leasehold.redis.topology;

import java.util.concurrent.CompletableFuture;

/**
 * A connection on which a server tells something by itself, in whatever client library, for one life of it. Its futures fail with what the
 * server has refused in its own words. Safe for all threads; no method blocks.
 */
public interface LiveConnection {

    /** A sign of life. */
    CompletableFuture<Void> ping();

    /** Whether it takes commands. */
    boolean isOpen();

    /** Ends it, once. */
    void close();

    /** Registers the listener for its end. */
    void onEnd(Runnable listener);
}
