package io.leasehold.benchmarks.peer;

import java.net.URI;
import java.time.Duration;
import java.util.concurrent.locks.Lock;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;

/** Spring Integration's registry, in the mode that waits for messages instead of polling every 100 ms; not renewed. */
final class SpringPeer implements Peer {

    private static final String REGISTRY = "spring";

    private final LettuceConnectionFactory connections;
    private final RedisLockRegistry registry;

    SpringPeer(String uri, Duration ttl) {
        connections = new LettuceConnectionFactory(
                URI.create(uri).getHost(), URI.create(uri).getPort());
        connections.afterPropertiesSet();
        connections.start();
        registry = new RedisLockRegistry(connections, REGISTRY, ttl.toMillis());
        registry.setRedisLockType(RedisLockType.PUB_SUB_LOCK);
    }

    @Override
    public Held acquire(String name) {
        Lock lock = registry.obtain(name);
        lock.lock();
        return lock::unlock;
    }

    @Override
    public String keyOf(String name) {
        return REGISTRY + ":" + name;
    }

    @Override
    public Lock reentrant(String name) {
        return registry.obtain(name);
    }

    @Override
    public void close() {
        registry.destroy();
        connections.destroy();
    }
}
