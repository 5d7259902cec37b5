package io.leasehold.zookeeper;

import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.tck.ReadWriteTck;
import io.leasehold.testkit.tck.StoreFixture;
import io.leasehold.testkit.tck.TurnsTck;
import io.leasehold.testkit.tck.WaitingTck;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** The contract of readers over a real server, and of the queue that they share with writers. */
@Tag("full")
class ZooKeeperReadersTckTest implements ReadWriteTck, WaitingTck, TurnsTck {

    private static TestingServer server;

    @BeforeAll
    static void start() {
        server = Ensemble.single();
    }

    @AfterAll
    static void stop() throws Exception {
        server.close();
    }

    @Override
    public StoreFixture fixture() {
        return new StoreFixture() {
            @Override
            public String name() {
                return "zookeeper with readers";
            }

            @Override
            public LockStore open(LockRuntime runtime) {
                String uri = Ensemble.uri(server.getConnectString(), "&sessionTimeout=15m&readers=true");
                return new ZooKeeperStoreProvider().open(StoreUri.parse(uri), runtime);
            }
        };
    }
}
