package io.leasehold.redis;

import io.leasehold.CredentialsProvider;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.redis.node.RedisNode;
import io.leasehold.redis.store.NodeOpening;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.topology.Driver;
import io.leasehold.redis.topology.LettuceDriver;
import io.leasehold.redis.topology.LettuceDrivers;
import io.leasehold.redis.topology.LettuceUris;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.RedisClusterClient;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.BiFunction;

/**
 * Locks in one Redis or Valkey deployment: the builder behind {@code redis://} URIs. It also accepts your own Lettuce
 * client. Immutable.
 *
 * <pre>{@code
 * RedisStore redis = RedisStore.over(client, RedisURI.create("redis://localhost:6379"));
 * LockClient locks = Leasehold.builder().store(redis::open).connect();
 * }</pre>
 *
 * <p>The store never closes a client that you pass and does not change its options. That client must live longer than
 * the lock client.
 */
public final class RedisStore {

    private final Deployment server;
    private final BiFunction<Deployment, LockRuntime, Driver> drivers;

    private RedisStore(Deployment server, BiFunction<Deployment, LockRuntime, Driver> drivers) {
        this.server = server;
        this.drivers = drivers;
    }

    /**
     * Creates a store for the deployment of a {@code redis://}, {@code redis-replicated://}, {@code redis-sentinel://}
     * or {@code redis-cluster://} URI. The store opens its own connections. Stores of one process whose URIs and
     * settings differ at most in {@code keys} share threads and the connection for requests.
     *
     * @throws IllegalArgumentException if the URI is malformed; the message repeats no secrets
     */
    public static RedisStore at(String uri) {
        return at(StoreUri.parse(uri));
    }

    static RedisStore at(StoreUri uri) {
        return new RedisStore(Deployment.parse(uri), LettuceDrivers::of);
    }

    /**
     * Creates a store for one server with your own client. The store uses the client's threads and options (TLS,
     * sockets) for connections that it opens and closes itself. These connections do not reconnect by themselves and
     * send nothing twice, whatever the client's options say.
     *
     * @throws IllegalArgumentException if the URI names no host
     */
    public static RedisStore over(RedisClient client, RedisURI server) {
        Objects.requireNonNull(client, "client");
        return new RedisStore(
                Deployment.of(LettuceUris.read(server, KeyLayout.standard())),
                (where, runtime) -> LettuceDriver.over(client, where));
    }

    /**
     * Creates a store for a Redis Cluster with your own client. The store uses the client's threads and options for
     * connections to each master, which it opens and closes itself.
     *
     * @param nodes some of the Cluster's nodes, enough that at least one can be reached; as in Lettuce, the first one
     *     names the credentials and TLS settings of all
     * @throws IllegalArgumentException if no node is named, or if a node has no host or names a database
     */
    public static RedisStore over(RedisClusterClient client, RedisURI... nodes) {
        Objects.requireNonNull(client, "client");
        if (nodes.length == 0) {
            throw new IllegalArgumentException("name at least one node of the Cluster");
        }
        return new RedisStore(
                Deployment.ofCluster(Arrays.stream(nodes)
                        .map(node -> LettuceUris.read(node, KeyLayout.standard()))
                        .toList()),
                (where, runtime) -> LettuceDriver.over(client, where));
    }

    /**
     * Sets the key template, in which {@code *} stands for the name of the lock. The default is {@code lock:{*}}; the
     * shortest template is {@code *}, the name itself. All clients of a lock must use the same template.
     *
     * @throws IllegalArgumentException if the text is not a template; the message gives the reason
     */
    public RedisStore keys(String template) {
        return new RedisStore(server.keys(KeyLayout.of(template)), drivers);
    }

    /**
     * Makes the server notify the client at once when the key of a held lock is deleted, overwritten or evicted, as
     * {@code toldAtOnce=true} does in a store URI. This needs one more connection and one more right.
     *
     * @throws IllegalArgumentException if the deployment is a Cluster
     */
    public RedisStore toldAtOnce() {
        return new RedisStore(server.toldAtOnce(), drivers);
    }

    /**
     * Asks the provider for the credentials of every connection, so that they may change while leases are held. They
     * replace those that a {@link RedisURI} names; Sentinels keep those of their URI.
     *
     * @throws IllegalArgumentException if the store URI names a password itself
     */
    public RedisStore credentials(CredentialsProvider provider) {
        return new RedisStore(server.credentials(Objects.requireNonNull(provider, "provider")), drivers);
    }

    /**
     * Opens the store and checks that the server answers.
     *
     * @throws io.leasehold.LockStoreException if the server cannot be reached, refuses, or cannot keep locks
     */
    public LockStore open(LockRuntime runtime) {
        NodeOpening opening = opening(runtime);
        return opening.told(new SingleNodeStore(opening.openNode(), runtime));
    }

    private NodeOpening opening(LockRuntime runtime) {
        return new NodeOpening(server, drivers.apply(server, runtime), runtime);
    }

    /** Opens the deployment as a node. */
    RedisNode openNode(LockRuntime runtime) {
        return opening(runtime).openNode();
    }

    /** Opens the server for locks without a fence and without a queue. */
    LockStore openPlain(LockRuntime runtime) {
        NodeOpening opening = opening(runtime);
        return opening.told(opening.openPlain());
    }

    /** The server for messages, without user and password. */
    @Override
    public String toString() {
        return server.toString();
    }
}
