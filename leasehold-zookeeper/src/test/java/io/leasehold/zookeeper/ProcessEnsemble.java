package io.leasehold.zookeeper;

import io.leasehold.servers.PortReservation;
import io.leasehold.testkit.process.ChildJvm;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.zookeeper.server.quorum.QuorumPeerMain;

/** Real members, each in a separate JVM, so that a signal can stop one of them. */
final class ProcessEnsemble implements AutoCloseable {

    private static final int MEMBERS = 3;
    private static final int ASK_MILLIS = 1_000;
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    /** One member. */
    record Server(int port, ChildJvm process) {}

    private final List<Server> servers;

    private ProcessEnsemble(List<Server> servers) {
        this.servers = servers;
    }

    static ProcessEnsemble start(Path directory) throws InterruptedException {
        List<Integer> ports =
                Stream.generate(PortReservation::forThisJvm).limit(3L * MEMBERS).toList();
        List<Server> servers = new ArrayList<>();
        for (int id = 1; id <= MEMBERS; id++) {
            Path file = configuration(directory, id, ports);
            ChildJvm process = ChildJvm.of(QuorumPeerMain.class)
                    .jvmArgument("-Xmx96m")
                    .jvmArgument("-XX:TieredStopAtLevel=1")
                    .property("zookeeper.admin.enableServer", "false")
                    .property("zookeeper.4lw.commands.whitelist", "srvr")
                    .arguments(file.toString())
                    .start();
            servers.add(new Server(ports.get(3 * (id - 1)), process));
        }
        ProcessEnsemble ensemble = new ProcessEnsemble(servers);
        ensemble.leader();
        return ensemble;
    }

    private static Path configuration(Path directory, int id, List<Integer> ports) {
        try {
            Path home = Files.createDirectories(directory.resolve("m" + id));
            Files.writeString(home.resolve("myid"), Integer.toString(id));
            StringBuilder text = new StringBuilder("dataDir=" + home + "\ntickTime=" + Ensemble.TICK_MILLIS
                    + "\ninitLimit=100\nsyncLimit=20\nmaxSessionTimeout=3600000\nclientPortAddress=127.0.0.1\nclientPort="
                    + ports.get(3 * (id - 1)) + "\n");
            for (int other = 1; other <= MEMBERS; other++) {
                text.append("server." + other + "=127.0.0.1:" + ports.get(3 * (other - 1) + 1) + ":"
                        + ports.get(3 * (other - 1) + 2) + "\n");
            }
            return Files.writeString(home.resolve("zoo.cfg"), text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    String uri() {
        return Ensemble.uri(
                servers.stream().map(server -> "127.0.0.1:" + server.port()).collect(Collectors.joining(",")), "");
    }

    /** The member that leads, as soon as one does. */
    Server leader() {
        long start = System.nanoTime();
        while (System.nanoTime() - start < PATIENCE.toNanos()) {
            Optional<Server> leader =
                    servers.stream().filter(ProcessEnsemble::leads).findFirst();
            if (leader.isPresent()) {
                return leader.get();
            }
            LockSupport.parkNanos(20_000_000);
        }
        throw new AssertionError("nobody leads: " + servers);
    }

    private static boolean leads(Server server) {
        try (Socket socket = new Socket()) {
            socket.setSoTimeout(ASK_MILLIS);
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()), ASK_MILLIS);
            socket.getOutputStream().write("srvr".getBytes(StandardCharsets.US_ASCII));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII)
                    .contains("Mode: leader");
        } catch (IOException notYet) {
            return false;
        }
    }

    @Override
    public void close() {
        servers.forEach(server -> server.process().close());
    }
}
