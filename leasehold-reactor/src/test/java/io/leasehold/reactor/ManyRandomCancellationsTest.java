package io.leasehold.reactor;

import io.leasehold.servers.RedisServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** 10,000 cancellations at random moments leave no key and no renewal. */
@Tag("full")
class ManyRandomCancellationsTest {

    private static final int CANCELLATIONS = 10_000;

    @Test
    void inMemory() throws InterruptedException {
        Storm.run("memory:", CANCELLATIONS, 3);
    }

    @Test
    void onRedis() throws Exception {
        try (RedisServer redis = RedisServer.start()) {
            Storm.run(redis.uri(), CANCELLATIONS, 4);
        }
    }
}
