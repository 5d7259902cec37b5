package io.leasehold.benchmarks.peer;

import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * ShedLock's provider for Redis. It prevents a task from running twice: it does not wait, so it is retried, and it does
 * not renew.
 */
final class ShedLockPeer implements Peer {

    private static final String ENVIRONMENT = "bench";

    private final LettuceConnectionFactory connections;
    private final RedisLockProvider provider;
    private final Duration ttl;

    ShedLockPeer(String uri, Duration ttl) {
        connections = new LettuceConnectionFactory(
                URI.create(uri).getHost(), URI.create(uri).getPort());
        connections.afterPropertiesSet();
        connections.start();
        provider = new RedisLockProvider(connections, ENVIRONMENT);
        this.ttl = ttl;
    }

    @Override
    public Held acquire(String name) throws InterruptedException {
        while (true) {
            Optional<SimpleLock> lock = provider.lock(new LockConfiguration(Instant.now(), name, ttl, Duration.ZERO));
            if (lock.isPresent()) {
                return lock.get()::unlock;
            }
            Polling.pause();
        }
    }

    @Override
    public String keyOf(String name) {
        return "job-lock:" + ENVIRONMENT + ":" + name;
    }

    @Override
    public void close() {
        connections.destroy();
    }
}
