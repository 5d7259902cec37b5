package io.leasehold.redis;

import io.leasehold.testkit.tck.FaultyFixture;
import io.leasehold.testkit.tck.KilledWaiterTck;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** Tests of waiters at a real Redis server whose processes are killed. */
@Tag("full")
final class RedisKilledWaiterTest implements KilledWaiterTck {

    @BeforeAll
    static void start() {
        RedisFaultsTckTest.start();
    }

    @AfterAll
    static void stop() {
        RedisFaultsTckTest.stop();
    }

    @Override
    public FaultyFixture fixture() {
        return new RedisFaultsTckTest().fixture();
    }
}
