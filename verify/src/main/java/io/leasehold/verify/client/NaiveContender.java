package io.leasehold.verify.client;

import io.leasehold.testkit.history.HistoryEvent;
import io.leasehold.testkit.history.HistorySink;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The control: the lock that is written by hand everywhere. {@code SET NX PX}, a {@code DEL} that compares nothing, a
 * counter beside it for a token, and a holder that believes in its lock until it has given it back. The checkers have to
 * find its faults, or they would find nobody's.
 */
final class NaiveContender implements Contender {

    private final RedisClient client;
    private final RedisCommands<String, String> redis;
    private final Duration ttl;
    private final String process;
    private final HistorySink sink;

    NaiveContender(String uri, Duration ttl, String process, HistorySink sink) {
        this.client = RedisClient.create(uri);
        this.redis = client.connect().sync();
        this.ttl = ttl;
        this.process = process;
        this.sink = sink;
    }

    @Override
    public @Nullable Held acquire(String lock, Duration patience) throws InterruptedException {
        long start = System.nanoTime();
        while (System.nanoTime() - start < patience.toNanos()) {
            if ("OK"
                    .equals(redis.set(
                            "lock:{" + lock + "}", process, SetArgs.Builder.nx().px(ttl)))) {
                long token = redis.incr("token:" + lock);
                long now = System.nanoTime();
                sink.add(new HistoryEvent.Acquired(now, process, lock, token, now + 1));
                return new NaiveHeld(lock, token);
            }
            Thread.sleep(10);
        }
        return null;
    }

    private final class NaiveHeld implements Held {

        private final String lock;
        private final long token;

        NaiveHeld(String lock, long token) {
            this.lock = lock;
            this.token = token;
        }

        @Override
        public long token() {
            return token;
        }

        @Override
        public boolean stillHolds() {
            long now = System.nanoTime();
            sink.add(new HistoryEvent.Extended(now, process, lock, token, now + 1));
            return true;
        }

        @Override
        public void release() {
            sink.add(new HistoryEvent.Ended(System.nanoTime(), process, lock, token, "released"));
            try {
                redis.del("lock:{" + lock + "}");
            } catch (RedisException e) {
                // As everywhere: the ttl will end it.
                return;
            }
        }
    }

    @Override
    public void close() {
        client.shutdown();
    }
}
