package io.leasehold.shedlock;

import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

@Tag("full")
class PostgresShedLockTest extends LongTtlShedLockTest {

    @TempDir
    private static Path directory;

    private static EmbeddedPostgres postgres;

    @BeforeAll
    static void start() throws IOException {
        String system = System.getProperty("os.name") + " " + System.getProperty("os.arch");
        if (!system.equals("Linux amd64")) {
            abort("no PostgreSQL server for " + system + " here: the archive is for Linux on x86-64");
        }
        postgres = EmbeddedPostgres.builder()
                .setDataDirectory(directory.resolve("data"))
                .setOverrideWorkingDirectory(Path.of("target", "servers", "postgresql")
                        .toAbsolutePath()
                        .toFile())
                .setLocaleConfig("locale", "C")
                .setPGStartupWait(Duration.ofMinutes(2))
                .start();
    }

    @AfterAll
    static void stop() throws IOException {
        if (postgres != null) {
            postgres.close();
        }
    }

    @Override
    LockClient connect() {
        return Leasehold.connect(postgres.getJdbcUrl("postgres", "postgres"));
    }
}
