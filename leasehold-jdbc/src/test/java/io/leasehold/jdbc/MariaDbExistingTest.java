package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests that a look makes neither tables nor a database in a real MariaDB. */
@Tag("full")
class MariaDbExistingTest implements ExistingStoreTests {

    @TempDir
    private static Path directory;

    private static MariaDbServer server;

    @BeforeAll
    static void start() throws IOException {
        server = MariaDbServer.start(directory);
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    @Override
    public String url() {
        return server.url();
    }

    @Test
    void aMissingDatabaseIsNotMade() {
        String missing = server.url("typo");
        ExistingStoreTests.assertNoStore(missing + "&createDatabaseIfNotExist=true");
        assertThatThrownBy(() -> DriverManager.getConnection(missing).close()).isInstanceOf(SQLException.class);
    }
}
