package io.leasehold.redis.wire;

import io.leasehold.redis.BundledBinaries;
import io.leasehold.servers.RedisServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;

/** The same walks on Redis 6.2, which sees another time in each command of a script. */
@Tag("full")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class ReadScriptsWalkOnOldestServerTest extends ReadScriptsWalkTest {

    @Override
    RedisServer.Builder configured(RedisServer.Builder builder) {
        return builder.binary(BundledBinaries.oldestServer());
    }
}
