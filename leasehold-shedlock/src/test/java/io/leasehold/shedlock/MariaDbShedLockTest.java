package io.leasehold.shedlock;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

@Tag("full")
class MariaDbShedLockTest extends LongTtlShedLockTest {

    @TempDir
    private static Path directory;

    private static SqlServer server;

    @BeforeAll
    static void start() throws IOException, InterruptedException {
        server = SqlServer.mariaDb(directory);
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    @Override
    LockClient connect() {
        return Leasehold.connect(server.url());
    }
}
