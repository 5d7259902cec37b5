package io.leasehold.jdbc;

import io.leasehold.servers.PortReservation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.tck.BackendTck;
import io.leasehold.testkit.tck.StoreFixture;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import org.h2.tools.Server;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/** The backend contract over a real H2 server, which can be restarted. */
@Tag("full")
class H2TckTest implements BackendTck {

    @TempDir
    private static Path directory;

    private static Server server;
    private static int port;

    @BeforeAll
    static void startServer() throws SQLException {
        port = PortReservation.forThisJvm();
        start();
    }

    @AfterAll
    static void stopServer() {
        server.stop();
    }

    private static void start() throws SQLException {
        // By default, H2 would listen on all interfaces.
        System.setProperty("h2.bindAddress", "127.0.0.1");
        server = Server.createTcpServer(
                        "-tcpPort", String.valueOf(port), "-ifNotExists", "-baseDir", directory.toString())
                .start();
    }

    private static String uri() {
        return "jdbc:h2:tcp://localhost:" + port + "/./locks";
    }

    @Override
    public StoreFixture fixture() {
        return new StoreFixture() {
            @Override
            public String name() {
                return "h2";
            }

            @Override
            public LockStore open(LockRuntime runtime) {
                return new JdbcStoreProvider().open(StoreUri.parse(uri()), runtime);
            }

            @Override
            public LockStore openForgetful(LockRuntime runtime) {
                return JdbcStores.connect(uri(), "forgetful", SqlDialect.H2.statements(), null, runtime, Duration.ZERO);
            }

            @Override
            public String uriForOtherProcesses() {
                return uri();
            }

            @Override
            public boolean canRestart() {
                return true;
            }

            @Override
            public void restart() throws SQLException {
                server.stop();
                start();
            }
        };
    }
}
