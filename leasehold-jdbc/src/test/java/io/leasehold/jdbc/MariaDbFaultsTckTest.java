package io.leasehold.jdbc;

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
import java.io.IOException;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/** The faults of the TCK over a real MariaDB server behind a proxy. */
@Tag("full")
class MariaDbFaultsTckTest implements FaultsTck, KilledWaiterTck {

    private static @Nullable MariaDbServer server;

    @BeforeAll
    static void startServer(@TempDir Path directory) throws IOException, InterruptedException {
        server = MariaDbServer.start(directory);
    }

    @AfterAll
    static void stopServer() {
        if (server != null) {
            server.close();
        }
    }

    @Override
    public FaultyFixture fixture() {
        return new FaultyFixture() {
            @Override
            public String name() {
                return "mariadb";
            }

            @Override
            public LockStore open(LockRuntime runtime) {
                return open(server.url(), runtime);
            }

            private LockStore open(String uri, LockRuntime runtime) {
                return new JdbcStoreProvider().open(StoreUri.parse(uri), runtime);
            }

            @Override
            public StoreFront front() {
                TcpProxy proxy = TcpProxy.to(server.port());
                return ProxyFront.of(
                        List.of(proxy),
                        server.url().replace(":" + server.port() + "/", ":" + proxy.port() + "/"),
                        this::open);
            }

            @Override
            public List<String> kept(LockName name) {
                return KeptRows.of(() -> DriverManager.getConnection(server.url()), name.text());
            }
        };
    }
}
