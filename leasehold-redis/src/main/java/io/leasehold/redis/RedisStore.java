package io.leasehold.redis;

import io.leasehold.CredentialsProvider;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.redis.node.RedisNode;
import io.leasehold.redis.store.NodeOpening;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.topology.Driver;
import io.leasehold.redis.topology.DriverThreads;
import io.leasehold.redis.topology.LettuceDriver;
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
import java.util.function.Function;

/**
 * Locks in one Redis or Valkey deployment: the builder behind {@code redis://} URIs, and the way to bring a Lettuce client of
 * one's own. Immutable.
 *
 * <pre>{@code
 * RedisStore redis = RedisStore.over(client, RedisURI.create("redis://localhost:6379"));
 * LockClient locks = Leasehold.builder().store(redis::open).connect();
 * }</pre>
 *
 * <p>A client that is brought along is never closed, and its options are not changed; it has to live longer than the lock client.
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
        return at(StoreUri.parse(uri));
    }

    static RedisStore at(StoreUri uri) {
        return new RedisStore(Deployment.parse(uri), where -> LettuceDriver.of(where, new DriverThreads()));
    }

    /**
     * A server, over a client of one's own: its threads and options (TLS, sockets) are used for connections that are made,
     * and closed, here. They do not reconnect by themselves and send nothing twice, whatever the client's options say.
     *
     * @throws IllegalArgumentException if the URI names no host
     */
    public static RedisStore over(RedisClient client, RedisURI server) {
        Objects.requireNonNull(client, "client");
        return new RedisStore(
                Deployment.of(LettuceUris.read(server, KeyLayout.standard())),
                where -> LettuceDriver.over(client, where));
    }

    /**
     * A Redis Cluster, over a client of one's own, in the same way: its threads and options are used for connections that are
     * made, and closed, here, to each master.
     *
     * @param nodes any of its nodes, enough that one of them can be reached; as in Lettuce, the first names the credentials and
     *     TLS settings of all
     * @throws IllegalArgumentException if no node is named, or one without a host or with a database
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
                where -> LettuceDriver.over(client, where));
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
     * The server tells at once when the key of a held lock is deleted, overwritten or evicted, as with {@code toldAtOnce=true} in a store URI:
     * over one connection more, and with one more right.
     *
     * @throws IllegalArgumentException if it is a Cluster
     */
    public RedisStore toldAtOnce() {
        return new RedisStore(server.toldAtOnce(), drivers);
    }

    /**
     * With credentials that the provider is asked for at every connection, so that they may change while leases are held. In place of
     * those that a {@link RedisURI} names; Sentinels keep those of their URI.
     *
     * @throws IllegalArgumentException if the store URI names a password itself
     */
    public RedisStore credentials(CredentialsProvider provider) {
        return new RedisStore(server.credentials(Objects.requireNonNull(provider, "provider")), drivers);
    }

    /**
     * Opens the store, and makes sure that the server answers.
     *
     * @throws io.leasehold.LockStoreException if it cannot be reached, refuses, or is none that keeps locks
     */
    public LockStore open(LockRuntime runtime) {
        NodeOpening opening = opening(runtime);
        return opening.told(new SingleNodeStore(opening.openNode(), runtime));
    }

    private NodeOpening opening(LockRuntime runtime) {
        return new NodeOpening(server, drivers.apply(server), runtime);
    }

    /** Opens the deployment as a node. */
    RedisNode openNode(LockRuntime runtime) {
        return opening(runtime).openNode();
    }

    /** Opens the server for locks without fence and queue. */
    LockStore openPlain(LockRuntime runtime) {
        NodeOpening opening = opening(runtime);
        return opening.told(opening.openPlain());
    }

    /** The server as people would name it: without user and password. */
    @Override
    public String toString() {
        return server.toString();
    }
}
