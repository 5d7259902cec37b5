package io.leasehold.benchmarks.peer;

import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.params.SetParams;

/** The helper class of many code bases: a pool, {@code SET NX PX}, {@code EVAL} of a compare-and-delete. */
final class JedisPeer implements Peer {

    private static final int CONNECTIONS = 64;

    private final JedisPooled pool;
    private final String compareAndDelete = Scripts.compareAndDelete();
    private final Duration ttl;

    JedisPeer(String uri, Duration ttl) {
        ConnectionPoolConfig config = new ConnectionPoolConfig();
        config.setMaxTotal(CONNECTIONS);
        config.setMaxIdle(CONNECTIONS);
        config.setJmxEnabled(false);
        pool = new JedisPooled(
                config, URI.create(uri).getHost(), URI.create(uri).getPort());
        this.ttl = ttl;
    }

    @Override
    public Held acquire(String name) throws InterruptedException {
        String key = keyOf(name);
        String owner = UUID.randomUUID().toString();
        SetParams ifAbsent = SetParams.setParams().nx().px(ttl.toMillis());
        while (pool.set(key, owner, ifAbsent) == null) {
            Polling.pause();
        }
        return () -> pool.eval(compareAndDelete, List.of(key), List.of(owner));
    }

    @Override
    public String keyOf(String name) {
        return "jedis:" + name;
    }

    @Override
    public void close() {
        pool.close();
    }
}
