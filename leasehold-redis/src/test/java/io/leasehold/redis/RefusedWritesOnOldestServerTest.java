package io.leasehold.redis;

import io.leasehold.servers.RedisServer;
import org.junit.jupiter.api.Tag;

/** The same tests on Redis 6.2, which also wraps the errors that a script catches and returns. */
@Tag("full")
final class RefusedWritesOnOldestServerTest extends RefusedWritesTest {

    @Override
    RedisServer.Builder configured(RedisServer.Builder builder) {
        return builder.binary(BundledBinaries.oldestServer());
    }
}
