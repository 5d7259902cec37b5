package io.leasehold.redis;

import io.leasehold.LockName;
import io.leasehold.servers.RedisReplicated;
import io.leasehold.simulator.proxy.ProxyFront;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.tck.FaultsTck;
import io.leasehold.testkit.tck.FaultyFixture;
import io.leasehold.testkit.tck.StoreFront;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** The faults of the TCK over a real master with a replica, each behind a proxy. */
@Tag("full")
final class ReplicatedFaultsTckTest implements FaultsTck {

    private static RedisReplicated group;

    @BeforeAll
    static void start() {
        group = Groups.replicated(1);
    }

    @AfterAll
    static void stop() {
        if (group != null) {
            group.close();
        }
    }

    @Override
    public FaultyFixture fixture() {
        return new FaultyFixture() {
            @Override
            public String name() {
                return "redis-replicated";
            }

            @Override
            public LockStore open(LockRuntime runtime) {
                return open(group.uri(), runtime);
            }

            private LockStore open(String uri, LockRuntime runtime) {
                return new RedisStoreProvider().open(StoreUri.parse(uri), runtime);
            }

            @Override
            public StoreFront front() {
                List<TcpProxy> proxies = Stream.concat(Stream.of(group.primary()), group.replicas().stream())
                        .map(server -> TcpProxy.to(server.port()))
                        .toList();
                String addresses = String.join(
                        ",",
                        proxies.stream()
                                .map(proxy -> "127.0.0.1:" + proxy.port())
                                .toList());
                return ProxyFront.of(proxies, "redis-replicated://" + addresses, this::open);
            }

            @Override
            public List<String> kept(LockName name) {
                return KeptKeys.of(List.of(group.primary()), name);
            }
        };
    }
}
