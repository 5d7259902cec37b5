package io.leasehold.redis;

import io.leasehold.LockName;
import io.leasehold.simulator.proxy.ProxyFront;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.tck.FaultsTck;
import io.leasehold.testkit.tck.FaultyFixture;
import io.leasehold.testkit.tck.KilledWaiterTck;
import io.leasehold.testkit.tck.StoreFront;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** The faults of the TCK over three real servers as a set, each behind a proxy. */
@Tag("full")
final class RedlockFaultsTckTest implements FaultsTck, KilledWaiterTck {

    private static RedlockServers servers;

    @BeforeAll
    static void start() {
        servers = RedlockServers.start(3, "60m", "500ms");
        servers.declareNew();
    }

    @AfterAll
    static void stop() {
        if (servers != null) {
            servers.close();
        }
    }

    @Override
    public FaultyFixture fixture() {
        return new FaultyFixture() {
            @Override
            public String name() {
                return "redlock";
            }

            @Override
            public LockStore open(LockRuntime runtime) {
                return open(servers.uri(), runtime);
            }

            private LockStore open(String uri, LockRuntime runtime) {
                return new RedlockStoreProvider().open(StoreUri.parse(uri), runtime);
            }

            @Override
            public StoreFront front() {
                List<TcpProxy> proxies = IntStream.range(0, servers.size())
                        .mapToObj(node -> TcpProxy.to(servers.server(node).port()))
                        .toList();
                List<Integer> ports = proxies.stream().map(TcpProxy::port).toList();
                return ProxyFront.of(proxies, servers.uri(ports, "60m"), this::open);
            }

            @Override
            public List<String> kept(LockName name) {
                return KeptKeys.of(
                        IntStream.range(0, servers.size())
                                .mapToObj(servers::server)
                                .toList(),
                        name);
            }
        };
    }
}
