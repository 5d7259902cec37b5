package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreUri;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Connections to a real MariaDB: silent ones, and ones to a server that is no longer the primary. */
@Tag("full")
@Timeout(180)
class MariaDbConnectionTest implements SilenceTests {

    @TempDir
    private static Path directory;

    private static @Nullable MariaDbServer server;

    @BeforeAll
    static void startServer() throws IOException, InterruptedException {
        server = MariaDbServer.start(directory.resolve("first"));
    }

    @AfterAll
    static void stopServer() {
        if (server != null) {
            server.close();
        }
    }

    @Override
    public int port() {
        return server.port();
    }

    @Override
    public String urlAt(int port) {
        return "jdbc:mariadb://127.0.0.1:" + port + "/app?user=root";
    }

    @Override
    public SqlDialect dialect() {
        return SqlDialect.MARIADB;
    }

    private static void execute(MariaDbServer at, String... statements) throws SQLException {
        try (Connection connection = at.connect();
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    /** The name leads to the new primary, and the old one keeps answering: it only refuses writes. */
    @Test
    void aSwitchoverIsFollowedByAConnectionOfOnesOwn() throws Exception {
        try (MariaDbServer next = MariaDbServer.start(directory.resolve("second"));
                TcpProxy name = TcpProxy.to(port())) {
            for (MariaDbServer each : new MariaDbServer[] {server, next}) {
                execute(each, "CREATE USER joe IDENTIFIED BY 'pssst'", "GRANT ALL ON app.* TO joe");
            }
            String url = "jdbc:mariadb://127.0.0.1:" + name.port() + "/app?user=joe&password=pssst";
            try (LeaseClient client =
                    LeaseClient.open(runtime -> new JdbcStoreProvider().open(StoreUri.parse(url), runtime))) {
                OwnerToken owner = client.owner();
                client.granted("switched", owner);
                name.retarget(new InetSocketAddress(InetAddress.getLoopbackAddress(), next.port()));
                execute(server, "SET GLOBAL read_only = ON");
                assertThat(client.acquire("switched too", client.owner())).isInstanceOf(AcquireReply.Granted.class);
                // The row is at the new primary.
                try (Connection connection = next.connect();
                        Statement statement = connection.createStatement();
                        var rows = statement.executeQuery("SELECT COUNT(*) FROM leasehold_lock")) {
                    rows.next();
                    assertThat(rows.getInt(1)).isEqualTo(1);
                }
            } finally {
                execute(server, "SET GLOBAL read_only = OFF", "DROP USER joe");
            }
        }
    }
}
