package io.leasehold.jdbc;

import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.servers.PortReservation;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;

/** A real PostgreSQL server for the tests; if its binaries do not run, the tests are skipped visibly. */
final class PostgresServer implements AutoCloseable {

    /** Shared by the classes of this build: unpacked programs, and a freshly created database. */
    private static final Path SHARED = Path.of("target", "servers").toAbsolutePath();

    private final EmbeddedPostgres postgres;
    private final Path directory;

    private PostgresServer(EmbeddedPostgres postgres, Path directory) {
        this.postgres = postgres;
        this.directory = directory;
    }

    static PostgresServer start(Path directory) throws IOException {
        String system = System.getProperty("os.name") + " " + System.getProperty("os.arch");
        if (!system.equals("Linux amd64")) {
            return abort("no PostgreSQL server for " + system + " here: the archive is for Linux on x86-64");
        }
        DataDirectory.copy(
                DataDirectory.template(
                        SHARED.resolve("postgresql-data"),
                        made -> launch(made, PortReservation.forThisJvm()).close()),
                directory);
        return new PostgresServer(launch(directory, PortReservation.forThisJvm()), directory);
    }

    /**
     * Starts a hot standby of this server from a copy of its data; both run then, and changes here are streamed there.
     */
    PostgresServer standby(Path at) throws IOException {
        Path copy = Files.createDirectories(at).resolve("data");
        int primary = postgres.getPort();
        restartedAfter(() -> DataDirectory.copy(data(), copy));
        Files.createFile(copy.resolve("standby.signal"));
        Files.writeString(
                copy.resolve("postgresql.auto.conf"),
                "primary_conninfo = 'host=127.0.0.1 port=" + primary + " user=postgres'\n",
                StandardOpenOption.APPEND);
        return new PostgresServer(launch(at, PortReservation.forThisJvm()), at);
    }

    private static EmbeddedPostgres launch(Path directory, int port) throws IOException {
        return EmbeddedPostgres.builder()
                .setPort(port)
                .setDataDirectory(directory.resolve("data"))
                .setOverrideWorkingDirectory(SHARED.resolve("postgresql").toFile())
                .setCleanDataDirectory(false)
                .setLocaleConfig("locale", "C")
                .setPGStartupWait(Duration.ofMinutes(2))
                .start();
    }

    /** The URL for its superuser, without a password. */
    String url() {
        return postgres.getJdbcUrl("postgres", "postgres");
    }

    int port() {
        return postgres.getPort();
    }

    /** The data directory; copy it only while the server is stopped. */
    Path data() {
        return directory.resolve("data");
    }

    /** Stops the server, lets its data be replaced, and restarts it at the same port. */
    PostgresServer restartedAfter(Restoring restoring) throws IOException {
        int port = postgres.getPort();
        postgres.close();
        restoring.restore();
        return new PostgresServer(launch(directory, port), directory);
    }

    /** Replaces data. */
    interface Restoring {
        void restore() throws IOException;
    }

    PostgresServer restarted() throws IOException {
        return restartedAfter(() -> {});
    }

    @Override
    public void close() throws IOException {
        postgres.close();
    }
}
