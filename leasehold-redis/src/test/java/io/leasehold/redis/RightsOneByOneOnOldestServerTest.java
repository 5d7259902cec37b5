package io.leasehold.redis;

import io.leasehold.servers.RedisServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;

/** The same on the oldest server that is supported, which words its refusals in its own way. */
@Timeout(180)
@Tag("full")
final class RightsOneByOneOnOldestServerTest extends RightsOneByOneTest {

    @Override
    RedisServer start() {
        return RedisUnderTest.start(b -> b.binary(BundledBinaries.oldestServer()));
    }
}
