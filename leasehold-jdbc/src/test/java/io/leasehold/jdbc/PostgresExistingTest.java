package io.leasehold.jdbc;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests that a look makes no tables in a real PostgreSQL. */
@Tag("full")
class PostgresExistingTest implements ExistingStoreTests {

    @TempDir
    private static Path directory;

    private static PostgresServer server;

    @BeforeAll
    static void start() throws IOException {
        server = PostgresServer.start(directory);
    }

    @AfterAll
    static void stop() throws IOException {
        if (server != null) {
            server.close();
        }
    }

    @Override
    public String url() {
        return server.url();
    }

    @Test
    void aMissingDatabaseIsNoStore() {
        ExistingStoreTests.assertNoStore(server.url().replace("/postgres?", "/typo?"));
    }
}
