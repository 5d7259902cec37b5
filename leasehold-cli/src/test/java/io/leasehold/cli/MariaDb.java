package io.leasehold.cli;

import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.servers.PortReservation;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** A MariaDB server of this machine; without one, the test is skipped with the reason. */
final class MariaDb implements AutoCloseable {

    private final Path directory;
    private final int port = PortReservation.forThisJvm();
    private final Process process;

    private MariaDb(Path directory) throws IOException {
        this.directory = directory;
        Process made = run("mariadb-install-db", "--auth-root-authentication-method=normal", "--skip-test-db");
        if (made.onExit().join().exitValue() != 0) {
            throw new IOException("no data directory was made: " + log());
        }
        Path atStart = Files.writeString(directory.resolve("start.sql"), """
            CREATE DATABASE app;
            CREATE USER IF NOT EXISTS 'root'@'127.0.0.1';
            GRANT ALL ON *.* TO 'root'@'127.0.0.1';
            """);
        this.process = run(
                "mariadbd",
                "--init-file=" + atStart,
                "--socket=" + directory.resolve("s"),
                "--pid-file=" + directory.resolve("pid"),
                "--bind-address=127.0.0.1",
                "--port=" + port);
    }

    static MariaDb start(Path directory) throws IOException {
        MariaDb server = new MariaDb(Files.createDirectory(directory.resolve("mariadb")));
        try {
            Await.until(server::log, server::answers);
        } catch (AssertionError e) {
            server.close();
            throw e;
        }
        return server;
    }

    private Process run(String program, String... options) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                found(program).toString(),
                "--no-defaults",
                "--datadir=" + directory.resolve("data"),
                "--innodb-log-file-size=8M",
                "--skip-name-resolve"));
        command.addAll(List.of(options));
        if (System.getProperty("user.name").equals("root")) {
            command.add("--user=root");
        }
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(file().toFile()))
                .redirectInput(new File("/dev/null"))
                .start();
    }

    private static Path found(String program) {
        return Stream.of("/usr/sbin", "/usr/bin", "/usr/local/bin")
                .map(folder -> Path.of(folder, program))
                .filter(Files::isExecutable)
                .findFirst()
                .orElseGet(() -> abort("no " + program + " here: it is in the package mariadb-server"));
    }

    private Path file() {
        return directory.resolve("log");
    }

    private String log() {
        return StartedCli.read(file());
    }

    private boolean answers() {
        try (Connection connection = DriverManager.getConnection(url())) {
            return connection.isValid(1);
        } catch (SQLException notYet) {
            return false;
        }
    }

    /** The URL for its superuser, without a password. */
    String url() {
        return "jdbc:mariadb://127.0.0.1:" + port + "/app?user=root";
    }

    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
    }
}
