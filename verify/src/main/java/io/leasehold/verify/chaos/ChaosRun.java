package io.leasehold.verify.chaos;

import io.leasehold.simulator.LeaseKind;
import io.leasehold.simulator.history.History;
import io.leasehold.simulator.history.Violation;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.testkit.process.ChildJvm;
import io.leasehold.verify.client.TicketFiles;
import io.leasehold.verify.resource.ResourceMain;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One run from its first process to its verdict. In every case, it ends everything that it has started. */
final class ChaosRun {

    private static final Logger LOG = LoggerFactory.getLogger(ChaosRun.class);
    private static final Duration START_PATIENCE = Duration.ofMinutes(3);

    /** For a short run on a busy machine. */
    private static final Duration FURTHER = Duration.ofMinutes(1);

    private final ChaosPlan plan;
    private final Path directory;
    private final Deque<AutoCloseable> started = new ArrayDeque<>();
    private final FaultCounts faults = new FaultCounts();

    private ChaosRun(ChaosPlan plan, Path directory) {
        this.plan = plan;
        this.directory = directory;
    }

    static Verdict run(ChaosPlan plan) throws Exception {
        Path keep = plan.keep();
        Path directory = keep == null ? Files.createTempDirectory("leasehold-chaos-") : Files.createDirectories(keep);
        ChaosRun run = new ChaosRun(plan, directory);
        Verdict verdict;
        try {
            verdict = run.start();
        } finally {
            run.stop();
        }
        if (keep == null && (verdict.exitCode() == 0 || plan.control() != null)) {
            delete(directory);
        } else {
            LOG.info("histories are in {}", directory);
        }
        return verdict;
    }

    private Verdict start() throws Exception {
        Path resourceHistory = directory.resolve("resource.history");
        ChildJvm resource = ChildJvm.of(ResourceMain.class)
                .jvmArgument("-Xmx96m")
                .arguments(resourceHistory.toString())
                .start();
        started.push(resource);
        int port = Integer.parseInt(resource.awaitLine("PORT ", START_PATIENCE).substring("PORT ".length()));
        ServerGroup servers = servers();
        if (servers != null) {
            started.push(servers);
        }
        Files.createDirectories(TicketFiles.directoryIn(directory));
        Remains remains = servers == null || plan.control() != null ? Remains.UNSEEN : servers.remains();
        remains.prepare(plan.kind());
        List<ClientSlot> clients = startClients(servers, port);
        FaultDriver driver =
                new FaultDriver(clients, servers, plan.faults(), plan.ttl(), new SplittableRandom(plan.seed()), faults);
        TicketFiles tickets = new TicketFiles(TicketFiles.directoryIn(directory));
        long begin = System.nanoTime();
        Duration ran = driver.run(
                plan.duration(),
                FURTHER,
                () -> plan.kind() == LeaseKind.TICKETS
                        ? tickets.used() > 0
                        : clients.stream().anyMatch(client -> client.hasAcquiredSince(begin)));
        List<Violation> left = new ArrayList<>();
        if (plan.control() == null && plan.faults().contains(FaultGroup.NETWORK)) {
            left.addAll(SilentConnections.check(clients));
        }
        for (ClientSlot client : clients) {
            client.askToEnd();
        }
        List<Path> histories = new ArrayList<>(List.of(resourceHistory));
        for (ClientSlot client : clients) {
            client.awaitEnd();
            client.histories().stream().filter(Files::exists).forEach(histories::add);
        }
        left.addAll(ChaosAftermath.check(plan, uri(servers, servers == null ? List.of() : servers.ports()), remains));
        History history = History.read(histories);
        if (!plan.store().isBestEffort()) {
            left.addAll(tickets.check(history::tokensBetween));
        }
        String store = servers == null ? "sqlite" : servers.name();
        return Verdict.of(plan.lasting(ran), store, faults, tickets.used(), remains.removed(), history, left);
    }

    private @Nullable ServerGroup servers() throws InterruptedException {
        return switch (plan.store()) {
            case REDIS -> ServerGroup.of(ServerUnderTest.redis());
            case REDLOCK -> ServerGroup.redlock(Math.max(3_000, plan.ttl().toMillis()));
            case SENTINEL -> ServerGroup.sentinel();
            case CLUSTER -> ServerGroup.cluster();
            case POSTGRESQL -> ServerGroup.of(DatabaseUnderTest.postgresql(directory.resolve("postgresql")));
            case MARIADB -> ServerGroup.of(DatabaseUnderTest.mariadb(directory.resolve("mariadb")));
            case ETCD -> ServerGroup.of(ServerUnderTest.etcd());
            case ZK -> ServerGroup.of(ServerUnderTest.zooKeeper(directory));
            case SQLITE -> null;
        };
    }

    private String uri(@Nullable ServerGroup servers, List<Integer> ports) {
        String uri = plainUri(servers, ports);
        String option = plan.store().option(plan.kind());
        return option.isEmpty() ? uri : uri + (uri.contains("?") ? "&" : "?") + option;
    }

    private String plainUri(@Nullable ServerGroup servers, List<Integer> ports) {
        if (servers == null) {
            return "sqlite:" + directory.resolve("locks.db");
        }
        return plan.control() == null
                ? servers.uri().apply(ports)
                : servers.rawUris().apply(ports);
    }

    private List<ClientSlot> startClients(@Nullable ServerGroup servers, int resourcePort) throws InterruptedException {
        List<ClientSlot> clients = new ArrayList<>();
        for (int i = 1; i <= plan.clients(); i++) {
            List<TcpProxy> proxies = servers == null
                    ? List.of()
                    : servers.ports().stream().map(TcpProxy::to).toList();
            String uri = uri(servers, proxies.stream().map(TcpProxy::port).toList());
            ClientSlot client = new ClientSlot(i, uri, proxies, plan, resourcePort, directory);
            started.push(client);
            clients.add(client);
        }
        for (ClientSlot client : clients) {
            client.awaitReady();
        }
        return clients;
    }

    private void stop() {
        while (!started.isEmpty()) {
            AutoCloseable next = started.pop();
            try {
                next.close();
            } catch (Exception e) {
                LOG.warn("stopping {} failed", next, e);
            }
        }
    }

    private static void delete(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
