package io.leasehold.benchmarks.workload;

import static io.leasehold.benchmarks.peer.PeerKind.JEDIS;
import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD;
import static io.leasehold.benchmarks.peer.PeerKind.RAW;
import static io.leasehold.benchmarks.peer.PeerKind.REDISSON;
import static io.leasehold.benchmarks.peer.PeerKind.SPRING;

import io.leasehold.LockOptions;
import io.leasehold.benchmarks.child.Order;
import io.leasehold.benchmarks.child.Worker;
import io.leasehold.benchmarks.measure.Figure;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.measure.ServerUse;
import io.leasehold.benchmarks.peer.Peer;
import io.leasehold.benchmarks.peer.PeerKind;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Measures the server's work for a hundred threads in other processes that wait for a lock held for ten seconds. */
final class RemoteWaiters implements Workload {

    private static final int PROCESSES = 4;
    private static final int THREADS = 25;
    private static final int SECONDS = 10;
    private static final String NAME = "waited-for";

    @Override
    public String id() {
        return "waiters";
    }

    @Override
    public String title() {
        return PROCESSES * THREADS + " waiters in " + PROCESSES + " processes, the lock held for " + SECONDS + " s";
    }

    @Override
    public void run(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        List<PeerKind> peers = plan.among(LEASEHOLD, RAW, REDISSON, JEDIS, SPRING);
        // So long that the holder does not renew meanwhile: only waiters are counted.
        try (Stage stage = Stage.open(Duration.ofMinutes(2))) {
            List<Worker> workers = stage.workers(PROCESSES);
            stage.connect(workers, peers);
            for (PeerKind kind : peers) {
                samples.accept(measure(stage, workers, kind));
            }
        }
    }

    private Sample measure(Stage stage, List<Worker> workers, PeerKind kind) throws InterruptedException {
        Peer.Held held = stage.peer(kind).acquire(NAME);
        Order wait = new Order(Order.Verb.ONCE, kind, stage.ttlMillis(), NAME, THREADS, System.nanoTime(), 0);
        workers.forEach(worker -> worker.send(wait));
        // The first poll of each waiter does not count.
        TimeUnit.SECONDS.sleep(2);
        ServerUse before = stage.look();
        TimeUnit.SECONDS.sleep(SECONDS);
        ServerUse use = stage.look().since(before);
        held.release();
        for (Worker worker : workers) {
            worker.answer();
        }
        double rechecks = SECONDS * 1_000.0 / LockOptions.defaults().recheck().toMillis();
        Map<Figure, Double> figures = new EnumMap<>(Figure.class);
        figures.put(Figure.SCRIPTS_PER_RECHECK, use.scripts() / rechecks / PROCESSES);
        figures.put(Figure.SCRIPTS_PER_SECOND, (double) use.scripts() / SECONDS);
        figures.put(Figure.COMMANDS_PER_SECOND, (double) use.calls() / SECONDS);
        figures.put(Figure.SERVER_CORES, use.cpuSeconds() / SECONDS);
        return new Sample(id(), "held " + SECONDS + " s", kind, 0, figures, use.commands());
    }
}
