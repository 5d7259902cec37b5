package io.leasehold.jedis;

import io.leasehold.CredentialsProvider;
import io.leasehold.StoreUnavailableException;
import io.leasehold.node.LockNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.redis.store.NodeOpening;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.topology.RedisUri;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Keeps locks in one Redis or Valkey deployment over Jedis 8, for applications without Lettuce. The keys, scripts and
 * guarantees are those of {@code RedisStore}; clients of both exclude each other. Immutable.
 *
 * <pre>{@code
 * JedisStore redis = JedisStore.at("redis://localhost:6379");
 * LockClient locks = Leasehold.builder().store(redis::open).connect();
 * }</pre>
 *
 * <p>A {@link RedisClient}, {@link RedisClusterClient} or {@link RedisSentinelClient} of the caller only lends its
 * settings. The store makes connections as that client makes its own, but outside its pools, and closes them. They do
 * not reconnect by themselves and send nothing twice, whatever the client's {@code maxAttempts}. The store never closes
 * the caller's client, which has to live longer than the lock client.
 *
 * <p><b>Threads.</b> Each connection has two; at most 32 more open connections. Callers never wait for a socket.
 */
public final class JedisStore {

    private final Supplier<Deployment> where;
    private final JedisDriver.Ways ways;

    private JedisStore(Supplier<Deployment> where, JedisDriver.Ways ways) {
        this.where = where;
        this.ways = ways;
    }

    /**
     * Uses the deployment of a {@code redis://}, {@code redis-replicated://}, {@code redis-sentinel://} or {@code
     * redis-cluster://} URI.
     *
     * @throws IllegalArgumentException if the URI is malformed, or has {@code waitReplicas} or {@code toldAtOnce},
     *     which need Lettuce; secrets are not repeated
     */
    public static JedisStore at(String uri) {
        Deployment named = Deployment.parse(StoreUri.parse(uri));
        if (named.acknowledgement().isWanted()) {
            throw needsLettuce(named, "waitReplicas");
        }
        if (named.isToldAtOnce()) {
            throw needsLettuce(named, "toldAtOnce");
        }
        return new JedisStore(() -> named, new OwnSettings());
    }

    private static IllegalArgumentException needsLettuce(Deployment named, String option) {
        return new IllegalArgumentException(
                "the store URI of " + named + " has " + option + ", which needs Lettuce: leave it out");
    }

    /**
     * Uses the server of a client.
     *
     * @throws IllegalArgumentException if the client has a client-side cache, whose pushes come between replies
     */
    public static JedisStore over(RedisClient client) {
        refuseCache(client);
        return new JedisStore(
                () -> Deployment.of(given(client, ClientSettings.address(client))), ClientSettings.of(client));
    }

    /**
     * Uses the Cluster of a client. Leasehold itself follows {@code MOVED} and {@code ASK}, and only to masters; the
     * client only supplies the settings of connections.
     *
     * @throws IllegalArgumentException as {@link #over(RedisClient)}
     */
    public static JedisStore over(RedisClusterClient client) {
        refuseCache(client);
        return new JedisStore(
                () -> Deployment.ofCluster(
                        nodes(client).stream().map(node -> given(client, node)).toList()),
                ClientSettings.of(client));
    }

    /**
     * Uses the master that the client's Sentinels announce to it. Leasehold follows a new master once it answers as a
     * master.
     *
     * <p>A {@code redis-sentinel://} URI does more: it asks all Sentinels, and uses the newest of their answers.
     *
     * @throws IllegalArgumentException as {@link #over(RedisClient)}
     */
    public static JedisStore over(RedisSentinelClient client) {
        refuseCache(client);
        return new JedisStore(() -> Deployment.named(() -> given(client, master(client))), ClientSettings.of(client));
    }

    private static void refuseCache(UnifiedJedis client) {
        if (Objects.requireNonNull(client, "client").getCache() != null) {
            throw new IllegalArgumentException(
                    "the Jedis client has a client-side cache, whose pushes come between replies: pass one without");
        }
    }

    private static List<HostAndPort> nodes(RedisClusterClient client) {
        List<HostAndPort> nodes = client.getClusterNodes().keySet().stream()
                .map(HostAndPort::from)
                .toList();
        if (nodes.isEmpty()) {
            throw new StoreUnavailableException("the Jedis client is closed, or knows no node", null);
        }
        return nodes;
    }

    private static HostAndPort master(RedisSentinelClient client) {
        HostAndPort master = client.getCurrentMaster();
        if (master == null) {
            throw new StoreUnavailableException("the Jedis client knows no master", null);
        }
        return master;
    }

    private static RedisUri given(UnifiedJedis client, HostAndPort server) {
        return RedisUri.given(client, server.getHost(), server.getPort(), 0, false, KeyLayout.standard());
    }

    /**
     * Sets the keys of the locks: a template in which {@code *} stands for the name. The default is {@code lock:{*}};
     * the shortest is {@code *}, the name itself. All clients of a lock must agree.
     *
     * @throws IllegalArgumentException if the template is invalid; the message says why
     */
    public JedisStore keys(String template) {
        KeyLayout layout = KeyLayout.of(template);
        return new JedisStore(() -> where.get().keys(layout), ways);
    }

    /**
     * Sets a provider that supplies the credentials of every connection, so that they may change while leases are held.
     * Only for a store URI without a password: the caller's own client has a credentials provider of its own.
     *
     * @throws IllegalArgumentException if the store URI has a password
     * @throws IllegalStateException if the store uses a client of the caller
     */
    public JedisStore credentials(CredentialsProvider provider) {
        Objects.requireNonNull(provider, "provider");
        if (!(ways instanceof OwnSettings)) {
            throw new IllegalStateException("the Jedis client logs in: give the provider to it");
        }
        Deployment named = where.get().credentials(provider);
        return new JedisStore(() -> named, ways);
    }

    /**
     * Opens the store, and verifies that the server answers. Blocks.
     *
     * @throws io.leasehold.LockStoreException if the server cannot be reached, refuses, or cannot keep locks
     */
    public LockStore open(LockRuntime runtime) {
        return new SingleNodeStore(openNode(runtime), runtime);
    }

    /** Opens the deployment as a node. */
    LockNode openNode(LockRuntime runtime) {
        Deployment found = found();
        return new NodeOpening(found, new JedisDriver(found.toString(), ways), runtime).openNode();
    }

    private Deployment found() {
        try {
            return where.get();
        } catch (JedisException e) {
            throw new RedisErrors("the server of the Jedis client").unreachable(JedisDriver.meaning(e));
        }
    }
}
