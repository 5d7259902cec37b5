package io.leasehold.redis.wire;

import io.leasehold.redis.BundledBinaries;
import io.leasehold.servers.RedisServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;

/** The same tests on Redis 6.2, which also wraps the errors that a script catches and returns. */
@Tag("quick")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class RefusedWritesScriptOnOldestServerTest extends RefusedWritesScriptTest {

    @Override
    RedisServer.Builder configured(RedisServer.Builder builder) {
        return builder.binary(BundledBinaries.oldestServer());
    }
}
