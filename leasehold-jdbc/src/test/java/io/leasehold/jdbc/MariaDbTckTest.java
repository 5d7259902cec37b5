package io.leasehold.jdbc;

import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.tck.BackendTck;
import io.leasehold.testkit.tck.StoreFixture;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/** The backend contract over a real MariaDB server, which can be restarted. */
@Tag("full")
class MariaDbTckTest implements BackendTck {

    @TempDir
    private static Path directory;

    private static @Nullable MariaDbServer server;

    @BeforeAll
    static void startServer() throws IOException, InterruptedException {
        server = MariaDbServer.start(directory);
    }

    @AfterAll
    static void stopServer() {
        if (server != null) {
            server.close();
        }
    }

    @Override
    public StoreFixture fixture() {
        return new StoreFixture() {
            @Override
            public String name() {
                return "mariadb";
            }

            @Override
            public LockStore open(LockRuntime runtime) {
                return new JdbcStoreProvider().open(StoreUri.parse(server.url()), runtime);
            }

            @Override
            public LockStore openForgetful(LockRuntime runtime) {
                return JdbcStores.connect(
                        server.url(), "forgetful", SqlDialect.MARIADB.statements(), null, runtime, Duration.ZERO);
            }

            @Override
            public String uriForOtherProcesses() {
                return server.url();
            }

            @Override
            public boolean canRestart() {
                return true;
            }

            @Override
            public void restart() throws IOException {
                server.restart();
            }
        };
    }
}
