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

    /** The kind of lock that a key stands for. */
    interface Kind {
        RLock of(RedissonClient client, String key);
    }

    static final Kind LOCK = RedissonClient::getLock;
    static final Kind FAIR = RedissonClient::getFairLock;
    static final Kind READER = (client, key) -> client.getReadWriteLock(key).readLock();

    private final RedissonClient client;
    private final Kind kind;

    RedissonPeer(String uri, Duration ttl, Kind kind) {
        Config config = new Config();
        config.setLockWatchdogTimeout(ttl.toMillis());
        config.useSingleServer().setAddress(uri);
        client = Redisson.create(config);
        this.kind = kind;
    }

    @Override
    public Held acquire(String name) {
        RLock lock = lock(name);
        lock.lock();
        return lock::unlock;
    }

    private RLock lock(String name) {
        return kind.of(client, keyOf(name));
    }

    @Override
    public String keyOf(String name) {
        return (kind == FAIR ? "redisson-fair:" : kind == READER ? "redisson-rw:" : "redisson:") + name;
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
