package io.leasehold.reactor;

import io.leasehold.servers.RedisServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A few hundred cancellations at random moments leave no key and no renewal. */
@Tag("quick")
class RandomCancellationTest {

    @Test
    void inMemory() throws InterruptedException {
        Storm.run("memory:", 300, 1);
    }

    @Test
    void onRedis() throws Exception {
        try (RedisServer redis = RedisServer.start()) {
            Storm.run(redis.uri(), 200, 2);
        }
    }
}
