package io.leasehold.benchmarks.workload;

import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD;
import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD_READ;

import io.leasehold.benchmarks.child.Order;
import io.leasehold.benchmarks.child.Span;
import io.leasehold.benchmarks.child.Worker;
import io.leasehold.benchmarks.measure.Drive;
import io.leasehold.benchmarks.measure.Figure;
import io.leasehold.benchmarks.measure.Load;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.measure.ServerUse;
import io.leasehold.benchmarks.peer.PeerKind;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * writer: sixteen threads in each of four JVMs read under one lock and hold it for 4 to 6 ms, again and again, so that
 * it is never free by itself; one thread of a fifth JVM writes.
 */
final class WriterAmongReaders implements Workload {

    private static final int PROCESSES = 4;
    private static final int THREADS = 16;
    private static final String NAME = "read-and-written";

    @Override
    public String id() {
        return "writer";
    }

    @Override
    public String title() {
        return "the wait of a writer among " + PROCESSES * THREADS + " readers that hold for 4 to 6 ms";
    }

    @Override
    public void run(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        List<PeerKind> peers = plan.among(LEASEHOLD_READ);
        try (Stage stage = Stage.open()) {
            List<Worker> workers = stage.workers(PROCESSES + 1);
            stage.connect(workers, peers);
            stage.connect(workers, peers.isEmpty() ? List.of() : List.of(LEASEHOLD));
            Rounds.run(plan, peers, samples, (kind, round) -> window(stage, plan, workers, kind, round));
        }
    }

    private Sample window(Stage stage, Plan plan, List<Worker> workers, PeerKind kind, int round)
            throws InterruptedException {
        ServerUse before = stage.look();
        long start = Drive.soonAtNanos(workers.size());
        long length = plan.window().toNanos();
        Worker writer = workers.get(PROCESSES);
        List<Worker> readers = workers.subList(0, PROCESSES);
        Order reads = new Order(Order.Verb.HOLDS, kind, stage.ttlMillis(), NAME, THREADS, start, length);
        readers.forEach(worker -> worker.send(reads));
        writer.send(new Order(Order.Verb.HAND_OVERS, LEASEHOLD, stage.ttlMillis(), NAME, 1, start, length));
        List<Load> loads = new ArrayList<>();
        for (Worker worker : readers) {
            loads.add(worker.answer().requireLoad());
        }
        long[] waits = writer.answer().spans().stream()
                .mapToLong(WriterAmongReaders::waited)
                .sorted()
                .toArray();
        ServerUse use = stage.look().since(before);
        Map<Figure, Double> figures = new EnumMap<>(Sample.pairs(Load.merge(loads), use));
        figures.remove(Figure.WAIT_P999_MILLIS);
        figures.put(Figure.WAIT_P50_MICROS, waits[waits.length / 2] / 1e3);
        figures.put(Figure.WAIT_P99_MICROS, waits[waits.length * 99 / 100] / 1e3);
        figures.put(Figure.WAIT_MAX_MILLIS, waits[waits.length - 1] / 1e6);
        return new Sample(id(), PROCESSES + " JVMs × " + THREADS, kind, round, figures, use.commands());
    }

    private static long waited(Span span) {
        return span.acquiredAtNanos() - span.requestedAtNanos();
    }
}
