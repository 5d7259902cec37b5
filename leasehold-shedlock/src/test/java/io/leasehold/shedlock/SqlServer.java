package io.leasehold.shedlock;

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
import java.util.stream.Stream;

/** A MariaDB or MySQL server of this machine; without one, the tests are skipped with a message. */
final class SqlServer implements AutoCloseable {

    private static final long PATIENCE_NANOS = TimeUnit.MINUTES.toNanos(2);

    private final Process process;
    private final String url;

    private SqlServer(Process process, String url) {
        this.process = process;
        this.url = url;
    }

    static SqlServer mariaDb(Path directory) throws IOException, InterruptedException {
        Path server = installed("mariadbd");
        made(
                directory,
                installed("mariadb-install-db").toString(),
                "--no-defaults",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--innodb-log-file-size=8M");
        return started(directory, "mariadb", server.toString(), "--no-defaults", "--innodb-log-file-size=8M");
    }

    static SqlServer mySql(Path directory) throws IOException, InterruptedException {
        String server = FetchedServers.named("mysqld").stream()
                .findFirst()
                .orElseGet(() -> abort("no MySQL here: leasehold-servers/newer-servers get sid mysqld"))
                .toString();
        made(directory, server, "--initialize-insecure");
        return started(
                directory,
                "mysql",
                server,
                "--mysqlx=OFF",
                "--secure-file-priv=NULL",
                "--skip-log-bin",
                "--performance-schema=OFF");
    }

    private static Path installed(String program) {
        return Stream.of("/usr/sbin", "/usr/bin", "/usr/local/bin")
                .map(folder -> Path.of(folder, program))
                .filter(Files::isExecutable)
                .findFirst()
                .orElseGet(() -> abort("no " + program + " here: it is in the package mariadb-server"));
    }

    private static Process run(Path directory, List<String> common, String... command) throws IOException {
        List<String> all = new ArrayList<>(List.of(command));
        all.add("--datadir=" + directory.resolve("data"));
        all.addAll(common);
        if (System.getProperty("user.name").equals("root")) {
            all.add("--user=root");
        }
        return new ProcessBuilder(all)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(
                        directory.resolve("server.log").toFile()))
                .start();
    }

    private static void made(Path directory, String... command) throws IOException, InterruptedException {
        Process making = run(directory, List.of(), command);
        if (!making.waitFor(3, TimeUnit.MINUTES) || making.exitValue() != 0) {
            making.destroyForcibly();
            throw new IOException("no data directory was made: " + Files.readString(directory.resolve("server.log")));
        }
    }

    private static SqlServer started(Path directory, String scheme, String... command)
            throws IOException, InterruptedException {
        int port = PortReservation.forThisJvm();
        Path atStart = Files.writeString(directory.resolve("start.sql"), """
            CREATE DATABASE IF NOT EXISTS app;
            CREATE USER IF NOT EXISTS 'root'@'127.0.0.1';
            GRANT ALL ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;
            """);
        Process process = run(
                directory,
                List.of(
                        "--init-file=" + atStart,
                        "--socket=" + directory.resolve("s"),
                        "--pid-file=" + directory.resolve("pid"),
                        "--bind-address=127.0.0.1",
                        "--port=" + port,
                        "--skip-name-resolve",
                        "--innodb-buffer-pool-size=16M"),
                command);
        SqlServer server = new SqlServer(process, "jdbc:" + scheme + "://127.0.0.1:" + port + "/app?user=root");
        server.awaitAnswer(directory);
        return server;
    }

    private void awaitAnswer(Path directory) throws IOException, InterruptedException {
        long began = System.nanoTime();
        while (true) {
            try (Connection answers = DriverManager.getConnection(url)) {
                return;
            } catch (SQLException notYet) {
                if (!process.isAlive() || System.nanoTime() - began > PATIENCE_NANOS) {
                    close();
                    throw new IOException(Files.readString(directory.resolve("server.log")), notYet);
                }
                Thread.sleep(50);
            }
        }
    }

    /** The URL for its superuser, without a password. */
    String url() {
        return url;
    }

    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
    }
}
