package io.leasehold.jdbc;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/** Rows that stay locked, and pauses between statements, at a real PostgreSQL. */
@Tag("full")
class PostgresLockedRowsTest implements LockedRowsTests, PauseTests {

    @TempDir
    private static Path directory;

    private static @Nullable PostgresServer server;

    @BeforeAll
    static void startServer() throws IOException {
        server = PostgresServer.start(directory);
    }

    @AfterAll
    static void stopServer() throws IOException {
        if (server != null) {
            server.close();
        }
    }

    @Override
    public Connection administrator() throws SQLException {
        return DriverManager.getConnection(server.url());
    }

    @Override
    public String storeUri() {
        return server.url();
    }

    @Override
    public SqlDialect dialect() {
        return SqlDialect.POSTGRESQL;
    }

    @Override
    public List<SqlDialect> dialects() {
        return List.of(dialect());
    }
}
