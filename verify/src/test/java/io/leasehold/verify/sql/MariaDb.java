package io.leasehold.verify.sql;

import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.servers.PortReservation;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** A real MariaDB server of this machine; without one the test is skipped visibly. It ends with this JVM. */
final class MariaDb implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofMinutes(2);

    private final Path log;
    private final int port;
    private @Nullable Process process;
    private @Nullable Process guardian;

    private MariaDb(Path log, int port) {
        this.log = log;
        this.port = port;
    }

    static MariaDb start(Path directory) throws IOException {
        String server = find("mariadbd");
        String install = find("mariadb-install-db");
        MariaDb started = new MariaDb(directory.resolve("server.log"), PortReservation.forThisJvm());
        boolean runs = false;
        try {
            started.install(install, directory);
            started.run(server, directory);
            runs = true;
        } finally {
            if (!runs) {
                started.close();
            }
        }
        return started;
    }

    private static String find(String program) {
        List<String> folders =
                new ArrayList<>(List.of(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator, -1)));
        folders.addAll(List.of("/usr/sbin", "/usr/local/sbin"));
        return folders.stream()
                .filter(folder -> !folder.isEmpty())
                .map(folder -> Path.of(folder, program))
                .filter(Files::isExecutable)
                .map(Path::toString)
                .findFirst()
                .orElseGet(() -> abort("no " + program + " on the PATH: install it (Debian: mariadb-server)"));
    }

    private void install(String program, Path directory) throws IOException {
        Process made = begin(command(
                program,
                "--no-defaults",
                "--datadir=" + directory.resolve("data"),
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--skip-name-resolve",
                "--innodb-log-file-size=8M"));
        try {
            if (!made.waitFor(PATIENCE.toMinutes(), TimeUnit.MINUTES) || made.exitValue() != 0) {
                throw new IOException("MariaDB's data directory was not made: " + Files.readString(log));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while MariaDB's data directory was made", e);
        } finally {
            made.destroyForcibly();
        }
    }

    private void run(String program, Path directory) throws IOException {
        Process server = begin(command(
                program,
                "--no-defaults",
                "--datadir=" + directory.resolve("data"),
                "--socket=" + directory.resolve("s"),
                "--pid-file=" + directory.resolve("pid"),
                "--bind-address=127.0.0.1",
                "--port=" + port,
                "--skip-name-resolve",
                "--innodb-buffer-pool-size=16M",
                "--innodb-log-file-size=8M"));
        process = server;
        // Its standard input closes when this JVM ends, in any way.
        guardian = new ProcessBuilder(
                        "/bin/sh", "-c", "trap '' INT TERM HUP; read -r ended || kill -KILL " + server.pid())
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        long startAtNanos = System.nanoTime();
        while (true) {
            try (Connection connection = connect()) {
                return;
            } catch (SQLException notYet) {
                if (!server.isAlive() || System.nanoTime() - startAtNanos > PATIENCE.toNanos()) {
                    throw new IOException("MariaDB does not answer: " + Files.readString(log), notYet);
                }
                LockSupport.parkNanos(20_000_000L);
            }
        }
    }

    private static List<String> command(String... words) {
        List<String> command = new ArrayList<>(Arrays.asList(words));
        if (System.getProperty("user.name").equals("root")) {
            command.add("--user=root");
        }
        return command;
    }

    private Process begin(List<String> command) throws IOException {
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                .redirectInput(new File("/dev/null"))
                .start();
    }

    /** The connection of its superuser, without a password. */
    Connection connect() throws SQLException {
        return DriverManager.getConnection("jdbc:mariadb://127.0.0.1:" + port + "/mysql?user=root");
    }

    @Override
    public void close() {
        Process server = process;
        Process guard = guardian;
        if (server != null) {
            server.destroyForcibly().onExit().orTimeout(1, TimeUnit.MINUTES).join();
        }
        if (guard != null) {
            guard.destroyForcibly();
        }
    }
}
