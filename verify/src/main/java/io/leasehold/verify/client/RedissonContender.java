package io.leasehold.verify.client;

import io.leasehold.simulator.history.HistorySink;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's fenced lock with its defaults, but its "watchdog" set to the common ttl. */
final class RedissonContender implements Contender {

    private final RedissonClient client;
    private final String process;
    private final HistorySink sink;

    RedissonContender(String uri, Duration ttl, String process, HistorySink sink) {
        Config config = new Config();
        config.setLockWatchdogTimeout(ttl.toMillis());
        config.useSingleServer().setAddress(uri).setConnectionMinimumIdleSize(1).setConnectionPoolSize(4);
        this.client = Redisson.create(config);
        this.process = process;
        this.sink = sink;
    }

    @Override
    public @Nullable Held acquire(String lock, Duration patience) throws InterruptedException {
        RFencedLock fenced = client.getFencedLock("peer:" + lock);
        Long token = fenced.tryLockAndGetToken(patience.toMillis(), TimeUnit.MILLISECONDS);
        return token == null ? null : new BelievedHold(sink, process, lock, token, fenced::unlock);
    }

    @Override
    public void close() {
        client.shutdown(0, 2, TimeUnit.SECONDS);
    }
}
