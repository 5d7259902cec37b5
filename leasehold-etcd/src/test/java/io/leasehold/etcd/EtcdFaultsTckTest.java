package io.leasehold.etcd;

import io.etcd.jetcd.Client;
import io.etcd.jetcd.options.GetOption;
import io.leasehold.LockName;
import io.leasehold.servers.EtcdServer;
import io.leasehold.simulator.proxy.ProxyFront;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.tck.FaultsTck;
import io.leasehold.testkit.tck.FaultyFixture;
import io.leasehold.testkit.tck.KilledWaiterTck;
import io.leasehold.testkit.tck.StoreFront;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** The faults of the TCK over a real etcd behind a proxy. */
@Tag("full")
class EtcdFaultsTckTest implements FaultsTck, KilledWaiterTck {

    private static EtcdServer server;
    private static Client operator;

    @BeforeAll
    static void start() {
        server = EtcdTckTest.startOrSkip();
        operator =
                Client.builder().endpoints("http://127.0.0.1:" + server.port()).build();
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            operator.close();
            server.close();
        }
    }

    @Override
    public FaultyFixture fixture() {
        return new FaultyFixture() {
            @Override
            public String name() {
                return "etcd";
            }

            @Override
            public LockStore open(LockRuntime runtime) {
                return open("etcd://127.0.0.1:" + server.port() + "/faults?readers=true", runtime);
            }

            private LockStore open(String uri, LockRuntime runtime) {
                return new EtcdStoreProvider().open(StoreUri.parse(uri), runtime);
            }

            @Override
            public StoreFront front() {
                TcpProxy proxy = TcpProxy.to(server.port());
                return ProxyFront.of(
                        List.of(proxy), "etcd://127.0.0.1:" + proxy.port() + "/faults?readers=true", this::open);
            }

            @Override
            public List<String> kept(LockName name) {
                try {
                    return operator
                            .getKVClient()
                            .get(
                                    new Keys("faults").queue(name),
                                    GetOption.builder()
                                            .isPrefix(true)
                                            .withKeysOnly(true)
                                            .build())
                            .get(20, TimeUnit.SECONDS)
                            .getKvs()
                            .stream()
                            .map(one -> one.getKey().toString(StandardCharsets.UTF_8))
                            .sorted()
                            .toList();
                } catch (Exception e) {
                    throw new IllegalStateException("the queue of " + name + " cannot be read", e);
                }
            }
        };
    }
}
