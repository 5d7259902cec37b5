package io.leasehold.verify.chaos;

import io.leasehold.servers.PortReservation;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A PostgreSQL or MariaDB server. Both hand each commit to the operating system before they report it, which is as good
 * as a disk if only processes die.
 */
final class DatabaseUnderTest implements ServerUnderTest {

    private static final Duration START_PATIENCE = Duration.ofMinutes(2);

    /** Some of these programs need an option to run as root, or refuse to. */
    private static final boolean ROOT = System.getProperty("user.name").equals("root");

    private final String name;
    private final String url;
    private final int port;
    private final Path directory;
    private final List<String> command;
    private ServerTree running;

    private DatabaseUnderTest(String name, String url, int port, Path directory, List<String> command) {
        this.name = name;
        this.url = url;
        this.port = port;
        this.directory = directory;
        this.command = List.copyOf(command);
        this.running = launch();
    }

    /** PostgreSQL, from its Maven artefact. */
    static DatabaseUnderTest postgresql(Path directory) throws InterruptedException {
        try {
            Path binaries = unpacked();
            Path data = directory.resolve("data");
            EmbeddedPostgres.builder()
                    .setDataDirectory(data)
                    .setCleanDataDirectory(false)
                    .setOverrideWorkingDirectory(binaries.toFile())
                    .setLocaleConfig("locale", "C")
                    .setPGStartupWait(START_PATIENCE)
                    .start()
                    .close();
            int port = PortReservation.forThisJvm();
            // It refuses to run as root; a user namespace of its own has no root.
            List<String> command = new ArrayList<>(ROOT ? List.of("unshare", "-U") : List.of());
            command.addAll(List.of(
                    find(binaries, "postgres").toString(),
                    "-D",
                    data.toString(),
                    "-p",
                    Integer.toString(port),
                    "-c",
                    "listen_addresses=127.0.0.1",
                    "-c",
                    "unix_socket_directories=",
                    "-c",
                    "max_connections=100",
                    "-F"));
            return started(
                    "postgresql", "jdbc:postgresql://127.0.0.1:%d/postgres?user=postgres", port, directory, command);
        } catch (IOException e) {
            throw new UncheckedIOException("PostgreSQL does not start", e);
        }
    }

    /** MariaDB, from the PATH. */
    static DatabaseUnderTest mariadb(Path directory) throws InterruptedException {
        try {
            Files.createDirectories(directory);
            Path data = directory.resolve("data");
            List<String> user = ROOT ? List.of("--user=root") : List.of();
            List<String> install = new ArrayList<>(List.of(
                    onPath("mariadb-install-db").toString(),
                    "--no-defaults",
                    "--datadir=" + data,
                    "--auth-root-authentication-method=normal",
                    "--skip-test-db",
                    "--skip-name-resolve",
                    "--innodb-log-file-size=8M"));
            install.addAll(user);
            Path log = directory.resolve("install.log");
            Process made = new ProcessBuilder(install)
                    .redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .start();
            if (!made.waitFor(START_PATIENCE.toSeconds(), TimeUnit.SECONDS) || made.exitValue() != 0) {
                made.destroyForcibly();
                throw new IllegalStateException("MariaDB's data directory cannot be made:\n" + Files.readString(log));
            }
            // The directory is MariaDB's form of a database.
            Files.createDirectories(data.resolve("app"));
            int port = PortReservation.forThisJvm();
            List<String> command = new ArrayList<>(List.of(
                    onPath("mariadbd").toString(),
                    "--no-defaults",
                    "--datadir=" + data,
                    "--socket=" + directory.resolve("s"),
                    "--pid-file=" + directory.resolve("pid"),
                    "--bind-address=127.0.0.1",
                    "--port=" + port,
                    "--skip-name-resolve",
                    "--innodb-buffer-pool-size=32M",
                    "--innodb-flush-log-at-trx-commit=2",
                    "--innodb-log-file-size=8M"));
            command.addAll(user);
            return started("mariadb", "jdbc:mariadb://127.0.0.1:%d/app?user=root", port, directory, command);
        } catch (IOException e) {
            throw new UncheckedIOException("MariaDB does not start", e);
        }
    }

    private static DatabaseUnderTest started(String name, String url, int port, Path directory, List<String> command)
            throws InterruptedException {
        DatabaseUnderTest server = new DatabaseUnderTest(name, url, port, directory, command);
        boolean ready = false;
        try {
            server.awaitReady();
            ready = true;
            return server;
        } finally {
            if (!ready) {
                server.close();
            }
        }
    }

    /** The folder in which the programs are unpacked once for all runs: next to the classes of this harness. */
    private static Path unpacked() throws IOException {
        URL classes =
                DatabaseUnderTest.class.getProtectionDomain().getCodeSource().getLocation();
        return Files.createDirectories(Path.of(URI.create(classes.toString())).resolveSibling("postgresql"));
    }

    private static Path find(Path root, String program) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            return files.filter(file -> file.endsWith(Path.of("bin", program)))
                    .findFirst()
                    .orElseThrow(() -> new IllegalStateException("no bin/" + program + " in " + root));
        }
    }

    private static Path onPath(String program) {
        String path = System.getenv().getOrDefault("PATH", "") + File.pathSeparator + "/usr/sbin:/usr/local/sbin";
        return Stream.of(path.split(File.pathSeparator, -1))
                .filter(folder -> !folder.isEmpty())
                .map(folder -> Path.of(folder, program))
                .filter(Files::isExecutable)
                .findFirst()
                .orElseThrow(() -> new IllegalStateException(
                        "no " + program + " on the PATH: install it (Debian: mariadb-server)"));
    }

    private ServerTree launch() {
        return ServerTree.start(directory.resolve("server.log"), command);
    }

    private void awaitReady() throws InterruptedException {
        long start = System.nanoTime();
        while (true) {
            try (Connection connection = DriverManager.getConnection(uri(port));
                    Statement statement = connection.createStatement()) {
                statement.execute("SELECT 1");
                return;
            } catch (SQLException e) {
                if (!running.isAlive() || System.nanoTime() - start > START_PATIENCE.toNanos()) {
                    throw new IllegalStateException(name + " does not answer; its log ends with\n" + running.log(), e);
                }
                TimeUnit.MILLISECONDS.sleep(20);
            }
        }
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public int port() {
        return port;
    }

    @Override
    public String uri(int ofPort) {
        return String.format(java.util.Locale.ROOT, url, ofPort);
    }

    @Override
    public Remains remains() {
        return new SqlRemains(uri(port), StoreKind.RETENTION);
    }

    @Override
    public boolean speaksResp() {
        return false;
    }

    @Override
    public void kill() throws InterruptedException {
        running.kill();
    }

    @Override
    public void restart() throws InterruptedException {
        running = launch();
        awaitReady();
    }

    @Override
    public void freeze() throws InterruptedException {
        running.freeze();
    }

    @Override
    public void thaw() throws InterruptedException {
        running.thaw();
    }

    @Override
    public void close() {
        running.close();
    }
}
