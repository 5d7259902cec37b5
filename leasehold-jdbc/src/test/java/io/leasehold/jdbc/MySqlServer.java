package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.servers.FetchedServers;
import io.leasehold.servers.PortReservation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A real MySQL server: the one in LEASEHOLD_MYSQL_SERVER, or one that was downloaded; without one the tests are
 * skipped.
 */
final class MySqlServer implements AutoCloseable {

    /** A freshly created data directory, shared by the classes of this build. */
    private static final Path SHARED = Path.of("target", "servers", "mysql").toAbsolutePath();

    private final Path program;
    private final Path directory;
    private final int port;
    private ServerProcess process;

    private MySqlServer(Path program, Path directory) throws IOException {
        this.program = program;
        this.directory = directory;
        this.port = PortReservation.forThisJvm();
        this.process = launch();
    }

    private static Path program() {
        String configured = System.getenv("LEASEHOLD_MYSQL_SERVER");
        if (configured != null && !configured.isBlank()) {
            return Path.of(configured);
        }
        return FetchedServers.named("mysqld").stream()
                .findFirst()
                .orElseGet(
                        () -> abort("no MySQL here: leasehold-servers/newer-servers get sid mysqld, or name a mysqld in"
                                + " LEASEHOLD_MYSQL_SERVER"));
    }

    static MySqlServer start(Path directory) throws IOException {
        Path program = program();
        DataDirectory.copy(DataDirectory.template(SHARED, made -> install(program, made)), directory);
        MySqlServer started = new MySqlServer(program, directory);
        started.process.awaitConnection(started::connect);
        return started;
    }

    private static void install(Path program, Path directory) throws IOException {
        Files.createDirectories(directory);
        Path log = directory.resolve("install.log");
        List<String> command = new ArrayList<>(
                List.of(program.toString(), "--initialize-insecure", "--datadir=" + directory.resolve("data")));
        command.addAll(user());
        Process made = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        try {
            assertThat(made.waitFor(3, TimeUnit.MINUTES) && made.exitValue() == 0)
                    .as("the data directory is made: %s", Files.readString(log))
                    .isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while the data directory was made", e);
        } finally {
            made.destroyForcibly();
        }
    }

    private static List<String> user() {
        return System.getProperty("user.name").equals("root") ? List.of("--user=root") : List.of();
    }

    private ServerProcess launch() throws IOException {
        Path atStart = directory.resolve("start.sql");
        Files.writeString(atStart, """
            CREATE DATABASE IF NOT EXISTS app;
            CREATE USER IF NOT EXISTS 'root'@'127.0.0.1';
            GRANT ALL ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;
            """);
        List<String> command = new ArrayList<>(List.of(
                program.toString(),
                "--datadir=" + directory.resolve("data"),
                "--init-file=" + atStart,
                "--socket=" + directory.resolve("s"),
                "--pid-file=" + directory.resolve("pid"),
                "--bind-address=127.0.0.1",
                "--port=" + port,
                "--mysqlx=OFF",
                "--secure-file-priv=NULL",
                "--skip-name-resolve",
                "--skip-log-bin",
                "--performance-schema=OFF",
                "--innodb-buffer-pool-size=16M"));
        command.addAll(user());
        return ServerProcess.start(directory.resolve("server.log"), command);
    }

    /** The URL for its superuser, without a password. */
    String url() {
        return "jdbc:mysql://127.0.0.1:" + port + "/app?user=root";
    }

    Connection connect() throws SQLException {
        return DriverManager.getConnection(url());
    }

    void restart() throws IOException {
        process.stop();
        process = launch();
        process.awaitConnection(this::connect);
    }

    @Override
    public void close() {
        process.close();
    }
}
