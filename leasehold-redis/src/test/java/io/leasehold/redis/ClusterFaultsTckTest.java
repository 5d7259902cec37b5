package io.leasehold.redis;

import io.leasehold.LockName;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisServer;
import io.leasehold.simulator.proxy.ProxyFront;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.tck.FaultsTck;
import io.leasehold.testkit.tck.FaultyFixture;
import io.leasehold.testkit.tck.StoreFront;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** The faults of the TCK over a real Cluster of three masters, each behind a proxy that it names as its own address. */
@Tag("full")
final class ClusterFaultsTckTest implements FaultsTck {

    private static final List<TcpProxy> PROXIES = new ArrayList<>();

    private static RedisCluster group;

    @BeforeAll
    static void start() {
        group = Groups.cluster(0, node -> node);
        for (RedisServer node : group.nodes()) {
            TcpProxy proxy = TcpProxy.to(node.port());
            PROXIES.add(proxy);
            node.call("CONFIG", "SET", "cluster-announce-port", Integer.toString(proxy.port()));
        }
        TopologyBench.until(
                "all nodes name the proxies",
                () -> group.nodes().stream()
                        .map(node -> node.call("CLUSTER", "NODES"))
                        .allMatch(
                                nodes -> PROXIES.stream().allMatch(proxy -> nodes.contains(":" + proxy.port() + "@"))));
    }

    @AfterAll
    static void stop() {
        if (group != null) {
            group.close();
        }
        PROXIES.forEach(TcpProxy::close);
    }

    private static RedisServer masterOf(LockName name) {
        String slot = group.nodes().get(0).call("CLUSTER", "KEYSLOT", "lock:{" + name.text() + "}");
        return group.masterOf(Integer.parseInt(slot.strip()));
    }

    @Override
    public FaultyFixture fixture() {
        return new FaultyFixture() {
            @Override
            public String name() {
                return "redis-cluster";
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
                return ProxyFront.overLasting(PROXIES, group.uri(), this::open);
            }

            @Override
            public List<String> kept(LockName name) {
                return KeptKeys.of(List.of(masterOf(name)), name);
            }
        };
    }
}
