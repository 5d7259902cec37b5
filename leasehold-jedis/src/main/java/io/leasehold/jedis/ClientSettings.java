package io.leasehold.jedis;

import io.leasehold.Credentials;
import io.leasehold.redis.topology.RedisUri;
import java.util.Map;
import java.util.function.Function;
import org.apache.commons.pool2.PooledObjectFactory;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.Pool;

/**
 * Makes connections as the user's client makes them for its pools, but outside those pools: with the same credentials,
 * TLS settings and time limits, even if a pool is exhausted.
 */
final class ClientSettings implements JedisDriver.Ways {

    private static final Logger LOG = LoggerFactory.getLogger(ClientSettings.class);
    private static final CommandArguments READWRITE = new CommandArguments(new CommandName("READWRITE"));

    private final Function<String, Pool<Connection>> pools;
    private final boolean ofCluster;

    /** Creates settings that find the pool by the address of a server. */
    private ClientSettings(Function<String, Pool<Connection>> pools, boolean ofCluster) {
        this.pools = pools;
        this.ofCluster = ofCluster;
    }

    static ClientSettings of(RedisClient client) {
        return new ClientSettings(address -> client.getPool(), false);
    }

    /** Uses the one pool that Jedis has at a time, to the server that Jedis takes for the master. */
    static ClientSettings of(RedisSentinelClient client) {
        return new ClientSettings(
                address -> {
                    for (Pool<Connection> pool :
                            client.getPrimaryNodesConnectionMap().values()) {
                        return pool;
                    }
                    throw unknown(address);
                },
                false);
    }

    static ClientSettings of(RedisClusterClient client) {
        return new ClientSettings(
                address -> {
                    Map<String, ConnectionPool> known = client.getClusterNodes();
                    ConnectionPool pool = known.get(address);
                    if (pool == null && !known.isEmpty()) {
                        client.refreshClusterTopology();
                        pool = client.getClusterNodes().get(address);
                    }
                    if (pool == null) {
                        throw unknown(address);
                    }
                    return pool;
                },
                true);
    }

    private static JedisConnectionException unknown(String address) {
        return new JedisConnectionException("the Jedis client is closed, or does not know " + address);
    }

    @Override
    public Connection connect(RedisUri server, @Nullable Credentials login) {
        String address = new HostAndPort(server.host(), server.port()).toString();
        Connection made = connect(pools.apply(address));
        try {
            HostAndPort there = made.getHostAndPort();
            if (!there.toString().equals(address)) {
                throw new JedisConnectionException("the Jedis client leads to " + there + " and not to " + address);
            }
            if (ofCluster) {
                forMasters(made);
            }
        } catch (RuntimeException | Error e) {
            // Even if the client has its own socket factory: Jedis cannot know where that leads.
            JedisWire.disconnect(made);
            throw e;
        }
        return made;
    }

    /**
     * Makes the connection read from masters only. A client that reads from replicas makes all its connections for
     * replicas, and there a demoted master would answer instead of redirecting.
     */
    private static void forMasters(Connection made) {
        try {
            made.executeCommand(READWRITE);
        } catch (JedisDataException e) {
            LOG.debug("a connection stays as the client makes it: {}", e.getMessage());
        }
    }

    /** The address of the client's only server, which the client reveals only once it has connected. */
    static HostAndPort address(RedisClient client) {
        Connection made = connect(client.getPool());
        try {
            return made.getHostAndPort();
        } finally {
            JedisWire.disconnect(made);
        }
    }

    private static Connection connect(Pool<Connection> pool) {
        if (pool.isClosed()) {
            throw new JedisConnectionException("the Jedis client is closed");
        }
        PooledObjectFactory<Connection> maker = pool.getFactory();
        try {
            return maker.makeObject().getObject();
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new JedisConnectionException(e);
        }
    }
}
