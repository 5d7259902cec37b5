package io.leasehold.redis.topology;

import io.leasehold.spi.toolkit.CredentialsDesk;
import java.util.concurrent.CompletableFuture;

/**
 * A client library, set up so that it sends everything at most once: its connections never reconnect by themselves, refuse what is
 * sent while they are not connected, and leave all time limits to us.
 *
 * <p>Safe for all threads; nothing here blocks but {@link #close}.
 */
public interface Driver extends AutoCloseable {

    /** Sets the provider of the logins that no URI names; before the first connection. */
    void logInWith(CredentialsDesk desk);

    /**
     * Makes a connection for commands, also to a Sentinel.
     *
     * @return fails with a {@link io.leasehold.redis.wire.ServerRefusal} if the server refuses the login
     */
    CompletableFuture<RedisConnection> connect(RedisUri server);

    /** Makes a connection for subscriptions, in the same way. */
    CompletableFuture<PushConnection> connectForPushes(RedisUri server);

    /** Makes a connection that tells of changes to keys, in the same way; fails where the client library has none. */
    default CompletableFuture<TrackingConnection> connectForTracking(RedisUri server) {
        return CompletableFuture.failedFuture(new UnsupportedOperationException("toldAtOnce needs Lettuce"));
    }

    /** Ends all connections and threads, also on a thread that is interrupted, which it stays. */
    @Override
    void close();
}
