package io.leasehold.shedlock;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.servers.RedisServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

@Tag("full")
class RedisShedLockTest extends LongTtlShedLockTest {

    private static RedisServer redis;

    @BeforeAll
    static void start() throws Exception {
        redis = RedisServer.builder().start();
    }

    @AfterAll
    static void stop() {
        redis.close();
    }

    @Override
    LockClient connect() {
        return Leasehold.connect(redis.uri());
    }
}
