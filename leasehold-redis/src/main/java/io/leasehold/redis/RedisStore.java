package io.leasehold.redis;

import io.leasehold.ballot.SingleNodeStore;
import io.leasehold.redis.node.EfficiencyStore;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.topology.Driver;
import io.leasehold.redis.topology.DriverThreads;
import io.leasehold.redis.topology.RedisUri;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Locks in one Redis or Valkey deployment: the builder behind {@code redis://} URIs, and the way to bring a Lettuce client or
 * connection of one's own. Immutable.
 *
 * <pre>{@code
 * RedisStore redis = RedisStore.over(client, RedisURI.create("redis://localhost:6379"));
 * LockClient locks = Leasehold.builder().store(redis::open).connect();
 * }</pre>
 *
 * <p>What is brought along is never closed, and neither its options nor its flush mode are changed; it has to live longer than
 * the lock client.
 */
public final class RedisStore {

    private final Deployment server;
    private final Function<Deployment, Driver> drivers;

    private RedisStore(Deployment server, Function<Deployment, Driver> drivers) {
        this.server = server;
        this.drivers = drivers;
    }

    /**
     * The deployment of a {@code redis://}, {@code redis-replicated://}, {@code redis-sentinel://} or {@code
     * redis-cluster://} URI, over connections of its own.
     *
     * @throws IllegalArgumentException if the URI is malformed; secrets are not repeated
     */
    public static RedisStore at(String uri) {
        return new RedisStore(Deployment.parse(StoreUri.parse(uri)), where -> Driver.of(where, new DriverThreads()));
    }

    /**
     * A server, over a client of one's own: its threads and options (TLS, sockets) are used for connections that are made,
     * and closed, here. They do not reconnect by themselves and send nothing twice, whatever the client's options say.
     *
     * @throws IllegalArgumentException if the URI names no host
     */
    public static RedisStore over(RedisClient client, RedisURI server) {
        Objects.requireNonNull(client, "client");
        RedisUri named = RedisUri.of(server, KeyLayout.standard());
        return new RedisStore(Deployment.of(named), where -> Driver.over(client, named));
    }

    /**
     * A server, over a connection of one's own. Without a second one for wake-ups, waiters learn by asking again: after 3 s +
     * 20 % at the latest.
     *
     * <p>It may be shared with other code, but not be one on which that code blocks ({@code BLPOP}), opens transactions
     * ({@code MULTI}) or subscribes. Requests are flushed at once; commands that its owner holds back with {@code
     * setAutoFlushCommands(false)} go out with them.
     *
     * @param name the server as people would name it: a connection does not tell
     */
    public static RedisStore over(RedisURI name, StatefulRedisConnection<String, String> connection) {
        return over(name, connection, null);
    }

    /** The same with a second connection, on which this client's wake-ups are subscribed to. */
    public static RedisStore over(
            RedisURI name,
            StatefulRedisConnection<String, String> connection,
            @Nullable StatefulRedisPubSubConnection<String, String> wakeUps) {
        Objects.requireNonNull(connection, "connection");
        RedisUri named = RedisUri.of(name, KeyLayout.standard());
        return new RedisStore(Deployment.of(named), where -> Driver.over(named, connection, wakeUps));
    }

    /**
     * Where the locks are: a template in which {@code *} stands for the name, {@code lock:{*}} unless set, down to
     * {@code *}, the name itself. All clients of a lock must agree.
     *
     * @throws IllegalArgumentException if it is no template; the message says why
     */
    public RedisStore keys(String template) {
        return new RedisStore(server.keys(KeyLayout.of(template)), drivers);
    }

    /**
     * Opens the store, and makes sure that the server answers.
     *
     * @throws io.leasehold.LockStoreException if it cannot be reached, refuses, or is none that keeps locks
     */
    public LockStore open(LockRuntime runtime) {
        return new SingleNodeStore(RedisStoreProvider.openNode(server, drivers.apply(server), runtime), runtime);
    }

    /** Opens the server for locks without fence and queue. */
    EfficiencyStore openPlain(LockRuntime runtime) {
        return RedisStoreProvider.openPlain(server, drivers.apply(server), runtime);
    }

    /** The server as people would name it: without user and password. */
    @Override
    public String toString() {
        return server.toString();
    }
}
