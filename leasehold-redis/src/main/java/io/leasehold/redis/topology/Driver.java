package io.leasehold.redis.topology;

import io.leasehold.spi.toolkit.CredentialsDesk;
import java.util.concurrent.CompletableFuture;

/**
 * A client library, configured to send everything at most once. Its connections never reconnect by themselves, refuse
 * commands while they are not connected, and leave all time limits to Leasehold.
 *
 * <p>Safe for all threads; only {@link #close} blocks.
 */
public interface Driver extends AutoCloseable {

    /** Sets the provider of the logins that no URI names. Call this before the first connection. */
    void logInWith(CredentialsDesk desk);

    /**
     * Opens a connection for commands to a server or a Sentinel.
     *
     * @return fails with a {@link io.leasehold.redis.wire.ServerRefusal} if the server refuses the login
     */
    CompletableFuture<RedisConnection> connect(RedisUri server);

    /**
     * Opens a connection for the requests for locks, in the same way. Clients with the same settings may share it; each
     * closes only its part.
     */
    default CompletableFuture<RedisConnection> connectForLink(RedisUri server) {
        return connect(server);
    }

    /** Opens a connection for subscriptions, in the same way. */
    CompletableFuture<PushConnection> connectForPushes(RedisUri server);

    /**
     * Opens a connection that reports changes to keys, in the same way; fails if the client library does not support
     * that.
     */
    default CompletableFuture<TrackingConnection> connectForTracking(RedisUri server) {
        return CompletableFuture.failedFuture(new UnsupportedOperationException("toldAtOnce needs Lettuce"));
    }

    /** Ends all connections and threads. Works on an interrupted thread, too, which stays interrupted. */
    @Override
    void close();
}
