package io.leasehold.jedis;

import io.leasehold.LockName;
import io.leasehold.servers.RedisServer;
import io.leasehold.simulator.proxy.ProxyFront;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.testkit.tck.FaultsTck;
import io.leasehold.testkit.tck.FaultyFixture;
import io.leasehold.testkit.tck.StoreFront;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** The faults of the TCK over one real Redis server behind a proxy, over Jedis. */
@Tag("full")
final class JedisFaultsTckTest implements FaultsTck {

    private static RedisServer server;

    private static final FaultyFixture FIXTURE = new FaultyFixture() {
        @Override
        public String name() {
            return "jedis " + server.version();
        }

        @Override
        public LockStore open(LockRuntime runtime) {
            return open(server.uri(), runtime);
        }

        private LockStore open(String uri, LockRuntime runtime) {
            return JedisStore.at(uri).open(runtime);
        }

        @Override
        public StoreFront front() {
            TcpProxy proxy = TcpProxy.to(server.port());
            return ProxyFront.of(List.of(proxy), "redis://127.0.0.1:" + proxy.port(), this::open);
        }

        @Override
        public List<String> kept(LockName name) {
            return Servers.kept(List.of(server), name);
        }
    };

    @BeforeAll
    static void start() {
        server = Servers.one();
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    @Override
    public FaultyFixture fixture() {
        return FIXTURE;
    }
}
