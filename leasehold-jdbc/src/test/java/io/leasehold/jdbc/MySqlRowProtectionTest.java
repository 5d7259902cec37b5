package io.leasehold.jdbc;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

@Tag("full")
class MySqlRowProtectionTest implements RowProtectionTests, LockedReadersTests {

    @TempDir
    private static Path directory;

    private static @Nullable MySqlServer server;

    @BeforeAll
    static void startServer() throws IOException {
        server = MySqlServer.start(directory);
    }

    @AfterAll
    static void stopServer() {
        if (server != null) {
            server.close();
        }
    }

    @Override
    public Connection transaction() throws SQLException {
        return RowProtectionTests.super.transaction();
    }

    @Override
    public Connection connect() throws SQLException {
        return server.connect();
    }
}
