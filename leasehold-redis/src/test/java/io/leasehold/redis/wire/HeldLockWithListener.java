package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.ScriptBench.ALICE;

import io.leasehold.redis.RedisUnderTest;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A held lock, a channel with a listener, and a channel without one. */
abstract class HeldLockWithListener {

    static final String DEAF = "lock:wake:nobody-listens";
    static final String HEARD = "lock:wake:heard";
    static final String DAVE = "d".repeat(40);
    static final long CLAIM = 4_000;

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    final ScriptBench bench = new ScriptBench(SERVER, "order:1");
    StatefulRedisPubSubConnection<String, String> listener;
    long token;

    @BeforeEach
    void hold() {
        listener = SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()));
        listener.sync().subscribe(HEARD);
        token = bench.now();
        bench.acquire(ALICE, token);
    }

    @AfterEach
    void stop() {
        redis().configSet("maxmemory", "0");
        listener.close();
    }

    RedisCommands<String, String> redis() {
        return SERVER.redis();
    }
}
