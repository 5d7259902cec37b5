package io.leasehold.verify.chaos;

import io.leasehold.simulator.history.History;
import io.leasehold.simulator.history.HistoryEvent;
import io.leasehold.simulator.history.HistoryFile;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.testkit.process.ChildJvm;
import io.leasehold.verify.client.ClientMain;
import io.leasehold.verify.client.TicketFiles;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A place for successive client JVMs, with a proxy of its own if the store is across a network. */
final class ClientSlot implements AutoCloseable {

    /** The time for a JVM to start or end on a busy machine. */
    private static final Duration PATIENCE = Duration.ofMinutes(3);

    /** Every other client has the connections of a pool, if possible: two at first, then three. */
    private static final int MIN_POOL = 2;

    private final int number;
    private final String uri;
    private final List<TcpProxy> proxies;
    private final ChaosPlan plan;
    private final int resourcePort;
    private final Path directory;
    private final List<Path> histories = new ArrayList<>();
    private int life;
    private ChildJvm child;
    private boolean frozen;

    ClientSlot(int number, String uri, List<TcpProxy> proxies, ChaosPlan plan, int resourcePort, Path directory) {
        this.number = number;
        this.uri = uri;
        this.proxies = proxies;
        this.plan = plan;
        this.resourcePort = resourcePort;
        this.directory = directory;
        this.child = start();
    }

    private ChildJvm start() {
        String name = "client-" + number + "." + ++life;
        Path history = directory.resolve(name + ".history");
        histories.add(history);
        ChildJvm.Builder jvm = ChildJvm.of(ClientMain.class);
        int pool = number % 2 == 0 ? MIN_POOL + number / 2 % 2 : 0;
        plan.access(uri, pool).environment().forEach(jvm::environment);
        return jvm.jvmArgument("-Xmx128m")
                .jvmArgument("-XX:TieredStopAtLevel=1")
                .jvmArgument("-XX:-UsePerfData")
                .arguments(
                        name,
                        Long.toString(plan.seed() * 1_000 + number * 100L + life),
                        Integer.toString(resourcePort),
                        history.toString(),
                        Integer.toString(plan.locks()),
                        Long.toString(plan.ttl().toMillis()),
                        plan.control() == null
                                ? ClientMain.LEASE
                                : plan.control().name(),
                        Integer.toString(plan.updates()),
                        Integer.toString(plan.coolLocks()),
                        plan.kind().name(),
                        TicketFiles.directoryIn(directory).toString())
                .start();
    }

    /** Its proxies to the servers, in the servers' order. */
    List<TcpProxy> proxies() {
        return proxies;
    }

    boolean isFrozen() {
        return frozen;
    }

    void freeze() throws InterruptedException {
        child.freeze();
        frozen = true;
    }

    void thaw() throws InterruptedException {
        if (frozen) {
            frozen = false;
            child.thaw();
        }
    }

    /** Sends SIGKILL, frozen or not, and starts a new client. */
    void killAndRestart() throws InterruptedException {
        long beforeNanos = System.nanoTime();
        child.kill();
        noteDeath(histories.get(histories.size() - 1), beforeNanos);
        frozen = false;
        child = start();
    }

    /** Readers of one process share a hold of the store, and so its token. */
    private record Held(String process, String lock, long token) {}

    /**
     * A dead process believes in nothing: its beliefs ended with it. A store that notices the death may grant its locks
     * to others before its leases' own ends.
     */
    private void noteDeath(Path history, long beforeNanos) {
        Map<Held, HistoryEvent.Acquired> open = new HashMap<>();
        long lastNanos = beforeNanos;
        List<Path> written = Files.exists(history) ? List.of(history) : List.of();
        for (HistoryEvent event : History.read(written).events()) {
            lastNanos = Math.max(lastNanos, event.atNanos());
            if (event instanceof HistoryEvent.Acquired acquired) {
                open.put(new Held(acquired.process(), acquired.lock(), acquired.token()), acquired);
            } else if (event instanceof HistoryEvent.Ended ended) {
                open.remove(new Held(ended.process(), ended.lock(), ended.token()));
            }
        }
        if (open.isEmpty()) {
            return;
        }
        Path ends = history.resolveSibling(history.getFileName() + ".death");
        try (HistoryFile file = HistoryFile.append(ends)) {
            for (HistoryEvent.Acquired lease : open.values()) {
                file.add(new HistoryEvent.Ended(lastNanos, lease.process(), lease.lock(), lease.token(), "killed"));
            }
        }
        histories.add(ends);
    }

    void awaitReady() throws InterruptedException {
        child.awaitLine("READY", PATIENCE);
    }

    /** Throws if a client has ended by itself, which is an error of Leasehold. */
    void requireAlive() {
        if (!child.isAlive()) {
            throw new IllegalStateException(
                    "client " + number + " ended by itself: " + String.join("\n", child.errorLines()));
        }
    }

    /** Whether the client has acquired a lock since then. */
    boolean hasAcquiredSince(long nanos) {
        Path history = histories.get(histories.size() - 1);
        return Files.exists(history)
                && History.read(List.of(history)).events().stream()
                        .anyMatch(event -> event instanceof HistoryEvent.Acquired && event.atNanos() - nanos > 0);
    }

    int number() {
        return number;
    }

    void askToEnd() {
        child.closeInput();
    }

    void awaitEnd() throws InterruptedException {
        child.waitFor(PATIENCE);
    }

    List<Path> histories() {
        return histories;
    }

    @Override
    public void close() {
        child.close();
        proxies.forEach(TcpProxy::close);
    }
}
