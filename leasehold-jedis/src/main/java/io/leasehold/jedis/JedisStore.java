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
 * Locks in one Redis or Valkey deployment, over Jedis 8: for those who have no Lettuce. The same keys, scripts and guarantees as
 * {@code RedisStore}; clients of both exclude each other. Immutable.
 *
 * <pre>{@code
 * JedisStore redis = JedisStore.at("redis://localhost:6379");
 * LockClient locks = Leasehold.builder().store(redis::open).connect();
 * }</pre>
 *
 * <p>A {@link RedisClient}, {@link RedisClusterClient} or {@link RedisSentinelClient} that is brought along lends its settings, and
 * nothing else: connections are made as it makes its own, outside of its pools, and closed here. They do not reconnect by themselves and
 * send nothing twice, whatever {@code maxAttempts} of the client says. It is never closed here, and has to live longer than the lock
 * client.
 *
 * <p><b>Threads.</b> Two for each connection, and at most 32 that connect; callers never wait for a socket.
 */
public final class JedisStore {

    private final Supplier<Deployment> where;
    private final JedisDriver.Ways ways;

    private JedisStore(Supplier<Deployment> where, JedisDriver.Ways ways) {
        this.where = where;
        this.ways = ways;
    }

    /**
     * The deployment of a {@code redis://}, {@code redis-replicated://}, {@code redis-sentinel://} or {@code redis-cluster://} URI.
     *
     * @throws IllegalArgumentException if the URI is malformed, or has {@code waitReplicas} or {@code toldAtOnce}, which need Lettuce;
     *     secrets are not repeated
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
     * The server of a client.
     *
     * @throws IllegalArgumentException if the client has a client-side cache, whose pushes stand between answers
     */
    public static JedisStore over(RedisClient client) {
        refuseCache(client);
        return new JedisStore(
                () -> Deployment.of(given(client, ClientSettings.address(client))), ClientSettings.of(client));
    }

    /**
     * The Cluster of a client. Leasehold itself follows {@code MOVED} and {@code ASK}, and only ever to masters; the client is asked for
     * the connections alone.
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
     * The master that a client hears of from its Sentinels. Leasehold follows it, once it answers as a master.
     *
     * <p>A {@code redis-sentinel://} URI goes further: it asks all Sentinels, and takes the latest of their answers.
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
                    "the Jedis client has a client-side cache, whose pushes stand between answers: bring one without");
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
     * Where the locks are: a template in which {@code *} stands for the name, {@code lock:{*}} unless set, down to {@code *}, the name
     * itself. All clients of a lock must agree.
     *
     * @throws IllegalArgumentException if it is no template; the message says why
     */
    public JedisStore keys(String template) {
        KeyLayout layout = KeyLayout.of(template);
        return new JedisStore(() -> where.get().keys(layout), ways);
    }

    /**
     * With credentials that the provider is asked for at every connection, so that they may change while leases are held. For a store URI
     * without a password; a client of one's own has a credentials provider of its own.
     *
     * @throws IllegalArgumentException if the store URI names a password itself
     * @throws IllegalStateException if a client was brought along
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
     * Opens the store, and makes sure that the server answers. Blocks.
     *
     * @throws io.leasehold.LockStoreException if it cannot be reached, refuses, or is none that keeps locks
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
