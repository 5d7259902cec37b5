package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

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

/** A real MariaDB server of this machine for the tests; without one the tests are skipped visibly. */
final class MariaDbServer implements AutoCloseable {

    private static final String PACKAGE = "mariadb-server";

    /** A freshly created data directory, shared by the classes of this build. */
    private static final Path SHARED = Path.of("target", "servers", "mariadb").toAbsolutePath();

    private final Path directory;
    private final int port;
    private final List<String> options;
    private ServerProcess process;

    private MariaDbServer(Path directory, int port, List<String> options, ServerProcess process) {
        this.directory = directory;
        this.port = port;
        this.options = options;
        this.process = process;
    }

    static MariaDbServer start(Path directory, String... options) throws IOException {
        Path server = ServerProcess.find("mariadbd", PACKAGE);
        DataDirectory.copy(DataDirectory.template(SHARED, MariaDbServer::install), directory);
        int port = PortReservation.forThisJvm();
        MariaDbServer started =
                new MariaDbServer(directory, port, List.of(options), launch(server, directory, port, List.of(options)));
        try {
            started.process.awaitConnection(() -> DriverManager.getConnection(started.url("mysql")));
            try (Connection connection = DriverManager.getConnection(started.url("mysql"));
                    var statement = connection.createStatement()) {
                statement.execute("CREATE DATABASE IF NOT EXISTS app");
            }
        } catch (SQLException e) {
            started.close();
            throw new IOException(e);
        }
        return started;
    }

    private static void install(Path directory) throws IOException {
        Path install = ServerProcess.find("mariadb-install-db", PACKAGE);
        Files.createDirectories(directory);
        List<String> command = new ArrayList<>(List.of(
                install.toString(),
                "--no-defaults",
                "--datadir=" + directory.resolve("data"),
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--skip-name-resolve",
                "--innodb-log-file-size=8M"));
        command.addAll(user());
        Path log = directory.resolve("install.log");
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
        }
    }

    private static List<String> user() {
        return System.getProperty("user.name").equals("root") ? List.of("--user=root") : List.of();
    }

    private static ServerProcess launch(Path server, Path directory, int port, List<String> options)
            throws IOException {
        List<String> command = new ArrayList<>(List.of(
                server.toString(),
                "--no-defaults",
                "--datadir=" + directory.resolve("data"),
                "--socket=" + directory.resolve("s"),
                "--pid-file=" + directory.resolve("pid"),
                "--bind-address=127.0.0.1",
                "--port=" + port,
                "--skip-name-resolve",
                "--innodb-buffer-pool-size=16M",
                "--innodb-log-file-size=8M"));
        command.addAll(user());
        command.addAll(options);
        return ServerProcess.start(directory.resolve("server.log"), command);
    }

    /** The URL for its superuser, without a password. */
    String url() {
        return url("app");
    }

    String url(String database) {
        return "jdbc:mariadb://127.0.0.1:" + port + "/" + database + "?user=root";
    }

    int port() {
        return port;
    }

    Connection connect() throws SQLException {
        return DriverManager.getConnection(url());
    }

    void restart() throws IOException {
        process.stop();
        process = launch(ServerProcess.find("mariadbd", PACKAGE), directory, port, options);
        process.awaitConnection(this::connect);
    }

    @Override
    public void close() {
        process.close();
    }
}
