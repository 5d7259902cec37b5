package io.leasehold.redis;

import io.leasehold.servers.RedisServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;

/** The same tests on the oldest supported server, which words its refusals differently. */
@Timeout(180)
@Tag("full")
final class RightsOneByOneOnOldestServerTest extends RightsOneByOneTest {

    @Override
    RedisServer start() {
        return RedisUnderTest.start(b -> b.binary(BundledBinaries.oldestServer()));
    }
}
