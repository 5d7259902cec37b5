package io.leasehold.verify.client;

import io.leasehold.simulator.history.HistorySink;
import io.lettuce.core.RedisClient;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The controls: the usual hand-made locks, with a counter for a token, and a holder that believes in its lock until it
 * has released it. The checkers must find their faults, or they would find none.
 */
final class NaiveContender implements Contender {

    private final RedisClient client;
    private final RedisCommands<String, String> redis;
    private final ControlKind kind;
    private final Duration ttl;
    private final String process;
    private final HistorySink sink;

    NaiveContender(ControlKind kind, String uri, Duration ttl, String process, HistorySink sink) {
        this.client = RedisClient.create(uri);
        this.redis = client.connect().sync();
        this.kind = kind;
        this.ttl = ttl;
        this.process = process;
        this.sink = sink;
    }

    private String value() {
        return kind == ControlKind.FIXED_VALUE ? "locked" : process;
    }

    @Override
    public @Nullable Held acquire(String lock, Duration patience) throws InterruptedException {
        long start = System.nanoTime();
        String key = "lock:{" + lock + "}";
        while (System.nanoTime() - start < patience.toNanos()) {
            if (take(key)) {
                return new BelievedHold(sink, process, lock, redis.incr("token:" + lock), () -> giveBack(key));
            }
            Thread.sleep(10);
        }
        return null;
    }

    private boolean take(String key) {
        return switch (kind) {
            case TWO_STEP -> "OK".equals(redis.set(key, value(), SetArgs.Builder.nx())) && redis.pexpire(key, ttl);
            case GET_THEN_SET -> redis.get(key) == null && redis.set(key, value(), SetArgs.Builder.px(ttl)) != null;
            default -> "OK".equals(redis.set(key, value(), SetArgs.Builder.nx().px(ttl)));
        };
    }

    private void giveBack(String key) {
        if (kind == ControlKind.DEL_WITHOUT_COMPARE || value().equals(redis.get(key))) {
            redis.del(key);
        }
    }

    @Override
    public void close() {
        client.shutdown();
    }
}
