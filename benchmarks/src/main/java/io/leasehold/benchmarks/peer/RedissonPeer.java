package io.leasehold.benchmarks.peer;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson with its defaults, but its "watchdog" set to the ttl of the other peers. */
final class RedissonPeer implements Peer {

    private final RedissonClient client;
    private final boolean fair;

    RedissonPeer(String uri, Duration ttl, boolean fair) {
        Config config = new Config();
        config.setLockWatchdogTimeout(ttl.toMillis());
        config.useSingleServer().setAddress(uri);
        client = Redisson.create(config);
        this.fair = fair;
    }

    @Override
    public Held acquire(String name) {
        RLock lock = lock(name);
        lock.lock();
        return lock::unlock;
    }

    private RLock lock(String name) {
        return fair ? client.getFairLock(keyOf(name)) : client.getLock(keyOf(name));
    }

    @Override
    public String keyOf(String name) {
        return (fair ? "redisson-fair:" : "redisson:") + name;
    }

    @Override
    public Lock reentrant(String name) {
        return lock(name);
    }

    @Override
    public void close() {
        client.shutdown(0, 2, TimeUnit.SECONDS);
    }
}
