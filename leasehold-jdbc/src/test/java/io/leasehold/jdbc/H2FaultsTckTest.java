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
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import org.h2.tools.Server;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/** The faults of the TCK over a real H2 server behind a proxy. */
@Tag("full")
class H2FaultsTckTest implements FaultsTck, KilledWaiterTck {

    private static @Nullable Server server;

    @BeforeAll
    static void startServer(@TempDir Path directory) throws SQLException {
        // By default, H2 would listen on all interfaces.
        System.setProperty("h2.bindAddress", "127.0.0.1");
        server = Server.createTcpServer("-tcpPort", "0", "-ifNotExists", "-baseDir", directory.toString())
                .start();
    }

    @AfterAll
    static void stopServer() {
        if (server != null) {
            server.stop();
        }
    }

    private static String uri() {
        return "jdbc:h2:tcp://localhost:" + server.getPort() + "/./locks";
    }

    @Override
    public FaultyFixture fixture() {
        return new FaultyFixture() {
            @Override
            public String name() {
                return "h2";
            }

            @Override
            public LockStore open(LockRuntime runtime) {
                return open(uri(), runtime);
            }

            private LockStore open(String uri, LockRuntime runtime) {
                return new JdbcStoreProvider().open(StoreUri.parse(uri), runtime);
            }

            @Override
            public StoreFront front() {
                TcpProxy proxy = TcpProxy.to(server.getPort());
                return ProxyFront.of(
                        List.of(proxy),
                        uri().replace(":" + server.getPort() + "/", ":" + proxy.port() + "/"),
                        this::open);
            }

            @Override
            public List<String> kept(LockName name) {
                return KeptRows.of(() -> DriverManager.getConnection(uri()), name.text());
            }
        };
    }
}
