package io.leasehold.shedlock;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import java.util.Map;
import org.apache.curator.test.InstanceSpec;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

@Tag("full")
class ZooKeeperShedLockTest extends StoreShedLockTest {

    private static TestingServer server;

    /** With the limits of a member as it comes (a tick of 2 s, sessions of up to 40 s): the default ttl fits. */
    @BeforeAll
    static void start() throws Exception {
        server = new TestingServer(
                new InstanceSpec(null, 0, 0, 0, true, -1, 2_000, -1, Map.of("maxSessionTimeout", "40000")), true);
    }

    @AfterAll
    static void stop() throws Exception {
        server.close();
    }

    @Override
    LockClient connect() {
        return Leasehold.connect("zk://" + server.getConnectString() + "/shedlock");
    }
}
