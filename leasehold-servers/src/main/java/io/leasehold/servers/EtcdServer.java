package io.leasehold.servers;

import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A real etcd server in a separate process, with its data in a temporary directory; a member of a cluster or alone.
 *
 * <p>The binary is the one in the environment variable {@value #ENVIRONMENT}, else {@code etcd} on the PATH, else one that
 * was {@linkplain FetchedServers fetched}. The server listens on 127.0.0.1 only and ends with {@link #close()} and at the
 * latest with this JVM. Safe for use by any thread.
 */
public final class EtcdServer implements AutoCloseable {
    /** The environment variable whose value, a path, wins over the search. */
    public static final String ENVIRONMENT = "LEASEHOLD_ETCD_SERVER";

    private static final Duration START_PATIENCE = Duration.ofSeconds(60);
    private static final Duration END_PATIENCE = Duration.ofSeconds(10);
    private static final int PROBE_MILLIS = 500;

    private final Path binary;
    private final Path directory;
    private final String name;
    private final PortReservation clientPort;
    private final PortReservation peerPort;
    private final List<String> extraArguments;
    private final @Nullable Tls tls;
    private String cluster = "";
    private @Nullable GuardedProcess process;

    /** The TLS part of a server: its certificate, and a port for plain probes. */
    private record Tls(ServerCertificate certificate, PortReservation probePort) {}

    private EtcdServer(
            Path binary,
            String name,
            PortReservation clientPort,
            PortReservation peerPort,
            List<String> extraArguments,
            @Nullable Tls tls)
            throws IOException {
        this.binary = binary;
        this.name = name;
        this.clientPort = clientPort;
        this.peerPort = peerPort;
        this.extraArguments = List.copyOf(extraArguments);
        this.tls = tls;
        this.directory = Files.createTempDirectory("leasehold-etcd-");
    }

    /**
     * Starts a cluster of one.
     *
     * @param extraArguments more arguments of the command, for example {@code --auto-compaction-retention=1}
     * @throws ServerUnavailableException if there is no etcd on this machine
     */
    public static EtcdServer start(String... extraArguments) {
        return launched(reserve(1, List.of(extraArguments), null));
    }

    /**
     * Starts a cluster of one that accepts clients only over TLS.
     *
     * @throws ServerUnavailableException if there is no etcd on this machine
     */
    public static EtcdServer startWithTls(ServerCertificate certificate) {
        return launched(reserve(1, List.of(), certificate));
    }

    private static EtcdServer launched(List<EtcdServer> servers) {
        servers.forEach(EtcdServer::launch);
        servers.forEach(EtcdServer::awaitReady);
        return servers.get(0);
    }

    /**
     * Starts a cluster of several members.
     *
     * @throws ServerUnavailableException if there is no etcd on this machine
     */
    public static List<EtcdServer> startCluster(int members) {
        List<EtcdServer> servers = reserve(members, List.of(), null);
        restartAll(servers);
        return servers;
    }

    private static List<EtcdServer> reserve(
            int members, List<String> extraArguments, @Nullable ServerCertificate certificate) {
        Path binary = binary();
        List<EtcdServer> servers = new ArrayList<>();
        try {
            for (int i = 1; i <= members; i++) {
                Tls tls = certificate == null ? null : new Tls(certificate, PortReservation.any());
                servers.add(new EtcdServer(
                        binary, "m" + i, PortReservation.any(), PortReservation.any(), extraArguments, tls));
            }
        } catch (IOException e) {
            throw new ServerException("cannot create a data directory", e);
        }
        List<String> peers = new ArrayList<>();
        for (EtcdServer server : servers) {
            peers.add(server.name + "=http://127.0.0.1:" + server.peerPort.port());
        }
        String cluster = String.join(",", peers);
        servers.forEach(server -> server.cluster = cluster);
        return servers;
    }

    private static Path binary() {
        String configured = System.getenv(ENVIRONMENT);
        if (configured != null && !configured.isBlank()) {
            return Path.of(configured);
        }
        String searchPath = System.getenv("PATH");
        for (String folder : (searchPath == null ? "" : searchPath).split(java.io.File.pathSeparator, -1)) {
            Path candidate = Path.of(folder, "etcd");
            if (!folder.isEmpty() && Files.isExecutable(candidate)) {
                return candidate;
            }
        }
        List<Path> fetched = FetchedServers.named("etcd");
        if (!fetched.isEmpty()) {
            return fetched.get(0);
        }
        throw new ServerUnavailableException(
                "no etcd on the PATH: install it (Debian: etcd-server), or set " + ENVIRONMENT + " to the path of one");
    }

    private void launch() {
        String clients = (tls == null ? "http" : "https") + "://127.0.0.1:" + clientPort.port();
        String peers = "http://127.0.0.1:" + peerPort.port();
        List<String> command = new ArrayList<>(List.of(
                binary.toString(),
                "--name=" + name,
                "--data-dir=" + directory.resolve("data"),
                "--listen-client-urls=" + clients,
                "--advertise-client-urls=" + clients,
                "--listen-peer-urls=" + peers,
                "--initial-advertise-peer-urls=" + peers,
                "--initial-cluster=" + cluster,
                "--initial-cluster-token=" + cluster.hashCode(),
                "--initial-cluster-state=new"));
        if (tls != null) {
            command.add("--cert-file=" + tls.certificate().certificate());
            command.add("--key-file=" + tls.certificate().key());
            command.add("--listen-metrics-urls=" + probes());
        }
        command.addAll(extraArguments);
        try {
            process = GuardedProcess.start(command, directory, directory.resolve("server.log"), directory);
        } catch (IOException e) {
            throw new ServerException("cannot start " + binary, e);
        }
    }

    /** The URL of health and metrics without TLS. */
    private String probes() {
        return "http://127.0.0.1:" + (tls == null ? port() : tls.probePort().port());
    }

    private GuardedProcess running() {
        return Objects.requireNonNull(process, "launched");
    }

    private void awaitReady() {
        long start = System.nanoTime();
        while (!isHealthy()) {
            if (!running().isAlive()) {
                throw new ServerException(
                        this + " ended with exit code " + running().exitCode() + ":\n" + log());
            }
            if (System.nanoTime() - start > START_PATIENCE.toNanos()) {
                throw new ServerException(this + " did not become healthy within " + START_PATIENCE + ":\n" + log());
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
        }
    }

    private boolean isHealthy() {
        try {
            HttpURLConnection connection =
                    (HttpURLConnection) URI.create(probes() + "/health").toURL().openConnection();
            connection.setConnectTimeout(PROBE_MILLIS);
            connection.setReadTimeout(PROBE_MILLIS);
            try {
                return connection.getResponseCode() == HttpURLConnection.HTTP_OK;
            } finally {
                connection.disconnect();
            }
        } catch (IOException notYet) {
            return false;
        }
    }

    private String log() {
        try {
            List<String> lines = Files.readAllLines(directory.resolve("server.log"), StandardCharsets.UTF_8);
            return String.join("\n", lines.subList(Math.max(0, lines.size() - 20), lines.size()));
        } catch (IOException e) {
            return "(no log: " + e.getMessage() + ")";
        }
    }

    /** The port for clients, on 127.0.0.1. */
    public int port() {
        return clientPort.port();
    }

    /** The sum over all methods of the requests that this server has received since its start. */
    public long requests() {
        return sumOf("grpc_server_msg_received_total");
    }

    /** The number of times that this server has forced its log to disk since its start, and waited for it. */
    public long fsyncs() {
        return sumOf("etcd_disk_wal_fsync_duration_seconds_count");
    }

    private long sumOf(String metric) {
        try {
            byte[] metrics;
            try (var in = URI.create(probes() + "/metrics").toURL().openStream()) {
                metrics = in.readAllBytes();
            }
            return new String(metrics, StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> line.startsWith(metric))
                    .mapToLong(line -> (long) Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                    .sum();
        } catch (IOException e) {
            throw new ServerException("cannot read the metrics of " + this, e);
        }
    }

    /** SIGKILL; returns when the process is gone. */
    public void kill() {
        running().kill();
        awaitEnd();
    }

    /** Starts a killed server with its data, and returns when it answers: in a cluster, when a majority is up. */
    public void restart() {
        launch();
        awaitReady();
    }

    /** Starts the members of one cluster that do not run, with their data, and returns when all answer. */
    public static void restartAll(List<EtcdServer> members) {
        members.forEach(EtcdServer::launch);
        members.forEach(EtcdServer::awaitReady);
    }

    /** SIGSTOP: the server does nothing until {@link #thaw()}. */
    public void freeze() {
        signal("STOP");
    }

    /** SIGCONT. */
    public void thaw() {
        signal("CONT");
    }

    private void signal(String signal) {
        try {
            running().signal(signal);
        } catch (IOException e) {
            throw new ServerException("cannot signal " + this, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ServerException("interrupted while signalling " + this, e);
        }
    }

    private void awaitEnd() {
        try {
            if (!running().waitFor(END_PATIENCE)) {
                throw new ServerException(this + " did not end after SIGKILL");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ServerException("interrupted while " + this + " was ending", e);
        }
    }

    /** Kills the server and deletes its data. */
    @Override
    public void close() {
        kill();
        clientPort.close();
        peerPort.close();
        if (tls != null) {
            tls.probePort().close();
        }
        try {
            ServerDirectory.deleteTree(directory);
        } catch (IOException e) {
            throw new ServerException("cannot delete '" + directory + "'", e);
        }
    }

    @Override
    public String toString() {
        return "etcd " + name + " at 127.0.0.1:" + clientPort.port();
    }
}
