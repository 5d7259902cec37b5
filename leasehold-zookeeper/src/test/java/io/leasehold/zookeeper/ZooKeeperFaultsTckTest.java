package io.leasehold.zookeeper;

import io.leasehold.LockName;
import io.leasehold.simulator.proxy.ProxyFront;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.PlainName;
import io.leasehold.testkit.tck.FaultsTck;
import io.leasehold.testkit.tck.FaultyFixture;
import io.leasehold.testkit.tck.KilledWaiterTck;
import io.leasehold.testkit.tck.StoreFront;
import java.util.List;
import org.apache.curator.test.TestingServer;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** The faults of the TCK over a real ZooKeeper server behind a proxy. */
@Tag("full")
class ZooKeeperFaultsTckTest implements FaultsTck, KilledWaiterTck {

    private static TestingServer server;
    private static ZooKeeper operator;

    @BeforeAll
    static void start() throws Exception {
        server = Ensemble.single();
        operator = new ZooKeeper(server.getConnectString(), 60_000, event -> {});
    }

    @AfterAll
    static void stop() throws Exception {
        operator.close();
        server.close();
    }

    @Override
    public FaultyFixture fixture() {
        return new FaultyFixture() {
            @Override
            public String name() {
                return "zookeeper";
            }

            @Override
            public LockStore open(LockRuntime runtime) {
                return open(Ensemble.uri(server.getConnectString(), "&readers=true"), runtime);
            }

            private LockStore open(String uri, LockRuntime runtime) {
                return new ZooKeeperStoreProvider().open(StoreUri.parse(uri), runtime);
            }

            @Override
            public StoreFront front() {
                TcpProxy proxy = TcpProxy.to(server.getPort());
                return ProxyFront.of(
                        List.of(proxy), Ensemble.uri("127.0.0.1:" + proxy.port(), "&readers=true"), this::open);
            }

            @Override
            public List<String> kept(LockName name) {
                try {
                    return operator.getChildren("/tests/" + PlainName.of(name), false).stream()
                            .sorted()
                            .toList();
                } catch (KeeperException.NoNodeException gone) {
                    return List.of();
                } catch (KeeperException | InterruptedException e) {
                    throw new IllegalStateException("the queue of " + name + " cannot be read", e);
                }
            }
        };
    }
}
