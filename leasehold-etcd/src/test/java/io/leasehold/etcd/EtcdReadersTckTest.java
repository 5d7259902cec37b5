package io.leasehold.etcd;

import io.leasehold.servers.EtcdServer;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.tck.ReadWriteTck;
import io.leasehold.testkit.tck.StoreFixture;
import io.leasehold.testkit.tck.TicketTck;
import io.leasehold.testkit.tck.TurnsTck;
import io.leasehold.testkit.tck.WaitingTck;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** The contract of readers over a real etcd, and of the queue that they share with writers. */
@Tag("full")
class EtcdReadersTckTest implements ReadWriteTck, WaitingTck, TurnsTck, TicketTck {

    private static EtcdServer server;

    @BeforeAll
    static void start() {
        server = EtcdTckTest.startOrSkip();
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    @Override
    public StoreFixture fixture() {
        return new StoreFixture() {
            @Override
            public String name() {
                return "etcd with readers";
            }

            @Override
            public LockStore open(LockRuntime runtime) {
                return new EtcdStoreProvider()
                        .open(StoreUri.parse("etcd://127.0.0.1:" + server.port() + "/readers?readers=true"), runtime);
            }
        };
    }
}
