package io.leasehold.jdbc;

import io.leasehold.testkit.tck.FaultyFixture;
import io.leasehold.testkit.tck.KilledWaiterTck;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/** Waiters of a real PostgreSQL server whose process is killed. */
@Tag("full")
class PostgresKilledWaiterTest implements KilledWaiterTck {

    @BeforeAll
    static void startServer(@TempDir Path directory) throws IOException {
        PostgresFaultsTckTest.startServer(directory);
    }

    @AfterAll
    static void stopServer() throws IOException {
        PostgresFaultsTckTest.stopServer();
    }

    @Override
    public FaultyFixture fixture() {
        return new PostgresFaultsTckTest().fixture();
    }
}
