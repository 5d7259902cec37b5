package io.leasehold.redis;

import io.leasehold.LockName;
import io.leasehold.servers.RedisSentinel;
import io.leasehold.servers.RedisSentinelGroup;
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

/** The faults of the TCK over a real master behind a proxy, and Sentinels that name the proxy, each behind one of its own. */
@Tag("full")
final class SentinelFaultsTckTest implements FaultsTck {

    private static final String NAME = RedisSentinelGroup.MASTER_NAME;
    private static final List<TcpProxy> PROXIES = new ArrayList<>();

    private static RedisSentinelGroup group;
    private static String uri;

    @BeforeAll
    static void start() {
        group = Groups.sentinel(1, member -> member);
        TcpProxy primary = TcpProxy.to(group.primary().port());
        PROXIES.add(primary);
        List<String> addresses = new ArrayList<>();
        for (RedisSentinel sentinel : group.sentinels()) {
            // The Sentinels must not consider a deliberately slow master dead.
            sentinel.call("SENTINEL", "REMOVE", NAME);
            sentinel.call("SENTINEL", "MONITOR", NAME, "127.0.0.1", Integer.toString(primary.port()), "2");
            sentinel.call("SENTINEL", "SET", NAME, "down-after-milliseconds", "60000");
            TcpProxy proxy = TcpProxy.to(sentinel.port());
            PROXIES.add(proxy);
            addresses.add("127.0.0.1:" + proxy.port());
        }
        TopologyBench.until(
                "all Sentinels know the group again",
                () -> group.sentinels().stream()
                        .map(sentinel -> sentinel.call("SENTINEL", "MASTER", NAME))
                        .allMatch(told -> told.contains("num-slaves\n1") && told.contains("num-other-sentinels\n2")));
        uri = "redis-sentinel://" + String.join(",", addresses) + "/" + NAME;
    }

    @AfterAll
    static void stop() {
        if (group != null) {
            group.close();
        }
        PROXIES.forEach(TcpProxy::close);
    }

    @Override
    public FaultyFixture fixture() {
        return new FaultyFixture() {
            @Override
            public String name() {
                return "redis-sentinel";
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
                return ProxyFront.overLasting(PROXIES, uri, this::open);
            }

            @Override
            public List<String> kept(LockName name) {
                return KeptKeys.of(List.of(group.servers().get(0)), name);
            }
        };
    }
}
