package io.leasehold.redis.topology;

import java.util.concurrent.CompletableFuture;

/**
 * One life of a connection on which a server sends notifications, in any client library. If the server refuses a
 * request, the future fails with the server's own words. Safe for all threads; no method blocks.
 */
public interface LiveConnection {

    /** Requests a sign of life. */
    CompletableFuture<Void> ping();

    /** Whether the connection accepts commands. */
    boolean isOpen();

    /** Closes the connection, at most once. */
    void close();

    /** Registers the listener for the end of the connection. */
    void onEnd(Runnable listener);
}
