package io.leasehold.jdbc;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/** The password of a role of PostgreSQL changes. */
@Tag("full")
final class PostgresCredentialsTest implements CredentialsTests {

    @TempDir
    private static Path directory;

    private static @Nullable PostgresServer server;

    @BeforeAll
    static void startServer() throws Exception {
        server = PostgresServer.start(directory);
        try (Connection admin = DriverManager.getConnection(server.url());
                Statement statement = admin.createStatement()) {
            statement.execute("CREATE ROLE app LOGIN");
            statement.execute("GRANT CREATE, USAGE ON SCHEMA public TO app");
            Path rules;
            try (ResultSet found = statement.executeQuery("SHOW hba_file")) {
                found.next();
                rules = Path.of(found.getString(1));
            }
            Files.writeString(rules, "host all app 127.0.0.1/32 scram-sha-256\n" + Files.readString(rules));
            statement.execute("SELECT pg_reload_conf()");
        }
    }

    @AfterAll
    static void stopServer() throws IOException {
        if (server != null) {
            server.close();
        }
    }

    @Override
    public String uri() {
        return "jdbc:postgresql://127.0.0.1:" + server.port() + "/postgres";
    }

    @Override
    public SqlDialect dialect() {
        return SqlDialect.POSTGRESQL;
    }

    @Override
    public void setPassword(String password) throws SQLException {
        try (Connection admin = DriverManager.getConnection(server.url());
                Statement statement = admin.createStatement()) {
            statement.execute("ALTER ROLE app PASSWORD '" + password + "'");
            statement.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'");
        }
    }
}
