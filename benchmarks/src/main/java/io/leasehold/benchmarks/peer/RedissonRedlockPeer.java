package io.leasehold.benchmarks.peer;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Redisson's {@code RedissonRedLock} (deprecated, but still recommended for this), with a default client for each
 * server.
 */
final class RedissonRedlockPeer implements Peer {

    /** With a server that does not reply it may never get the lock. */
    private static final long PATIENCE_SECONDS = 20;

    private final List<RedissonClient> clients = new ArrayList<>();

    RedissonRedlockPeer(List<String> servers, Duration ttl) {
        for (String server : servers) {
            Config config = new Config();
            config.setLockWatchdogTimeout(ttl.toMillis());
            config.useSingleServer().setAddress(server);
            clients.add(Redisson.create(config));
        }
    }

    @Override
    @SuppressWarnings("deprecation") // its replacement is not a lock over a quorum
    public Held acquire(String name) throws InterruptedException {
        RLock lock = new RedissonRedLock(
                clients.stream().map(client -> client.getLock(keyOf(name))).toArray(RLock[]::new));
        if (!lock.tryLock(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
            throw new IllegalStateException("no lock within " + PATIENCE_SECONDS + " s");
        }
        return lock::unlock;
    }

    @Override
    public String keyOf(String name) {
        return "redisson:" + name;
    }

    @Override
    public void close() {
        clients.forEach(client -> client.shutdown(0, 2, TimeUnit.SECONDS));
    }
}
