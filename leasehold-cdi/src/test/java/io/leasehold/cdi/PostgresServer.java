package io.leasehold.cdi;

import static org.junit.jupiter.api.Assumptions.abort;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;

/** A real PostgreSQL server for the tests; if its binaries do not run, the tests are skipped with a message. */
final class PostgresServer implements AutoCloseable {

    private final EmbeddedPostgres postgres;

    private PostgresServer(EmbeddedPostgres postgres) {
        this.postgres = postgres;
    }

    static PostgresServer start(Path directory) throws IOException {
        String system = System.getProperty("os.name") + " " + System.getProperty("os.arch");
        if (!system.equals("Linux amd64")) {
            return abort("no PostgreSQL server for " + system + " here: the archive is for Linux on x86-64");
        }
        return new PostgresServer(EmbeddedPostgres.builder()
                .setDataDirectory(directory.resolve("data"))
                .setOverrideWorkingDirectory(Path.of("target", "servers", "postgresql")
                        .toAbsolutePath()
                        .toFile())
                .setLocaleConfig("locale", "C")
                .setPGStartupWait(Duration.ofMinutes(2))
                .start());
    }

    /** The URL for its superuser, without a password. */
    String url() {
        return postgres.getJdbcUrl("postgres", "postgres");
    }

    @Override
    public void close() throws IOException {
        postgres.close();
    }
}
