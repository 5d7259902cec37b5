package io.leasehold.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.servers.RedisServer;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.test.support.AbstractExtensibleLockProviderIntegrationTest;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** ShedLock's own tests, over a real Redis. */
@Tag("full")
class RedisShedLockTest extends AbstractExtensibleLockProviderIntegrationTest {

    private static RedisServer redis;
    private static LockClient client;

    @BeforeAll
    static void start() throws Exception {
        redis = RedisServer.builder().start();
        client = Leasehold.connect(redis.uri());
    }

    @AfterAll
    static void stop() {
        client.close();
        redis.close();
    }

    @Override
    public ExtensibleLockProvider getLockProvider() {
        return LeaseholdLockProvider.over(client);
    }

    @Override
    public void assertUnlocked(String name) {
        assertThat(client.admin().inspect(name)).isEmpty();
    }

    @Override
    public void assertLocked(String name) {
        assertThat(client.admin().inspect(name)).isPresent();
    }
}
