package io.leasehold.benchmarks.workload;

import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD_READ;
import static io.leasehold.benchmarks.peer.PeerKind.REDISSON_READ;

import io.leasehold.benchmarks.measure.Figure;
import io.leasehold.benchmarks.measure.ProcessCpu;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.measure.ServerUse;
import io.leasehold.benchmarks.peer.Peer;
import io.leasehold.benchmarks.peer.PeerKind;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.IntFunction;

/** held-reads: one process holds a thousand read leases, and only renews them; of one lock, or of a thousand. */
final class HeldReads implements Workload {

    private static final int READERS = 1_000;
    private static final Duration TTL = Duration.ofSeconds(9);
    /** The number of renewals of a lease in the time that is measured. */
    private static final int INTERVALS = 6;

    private final String id;
    private final String of;
    private final IntFunction<String> names;

    private HeldReads(String id, String of, IntFunction<String> names) {
        this.id = id;
        this.of = of;
        this.names = names;
    }

    static Workload ofOneLock() {
        return new HeldReads("held-reads", "one lock", number -> "read");
    }

    static Workload ofDistinctLocks() {
        return new HeldReads("held-reads-distinct", "as many locks", number -> "read-" + number);
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public String title() {
        return "1,000 readers of " + of + " in one process, ttl " + TTL.toSeconds() + " s, only renewed";
    }

    @Override
    public void run(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        for (PeerKind kind : plan.among(LEASEHOLD_READ, REDISSON_READ)) {
            samples.accept(measure(kind));
        }
    }

    private Sample measure(PeerKind kind) throws InterruptedException {
        try (Stage stage = Stage.open(TTL)) {
            Peer peer = stage.peer(kind);
            List<Peer.Held> held = new ArrayList<>();
            try {
                for (int number = 0; number < READERS; number++) {
                    held.add(inItsOwnThread(peer, names.apply(number)));
                }
                return held(stage, kind);
            } finally {
                // Not released one by one: closing the client ends them. Until then, a dropped handle would not be
                // renewed.
                Reference.reachabilityFence(held);
            }
        }
    }

    private Sample held(Stage stage, PeerKind kind) throws InterruptedException {
        TimeUnit.NANOSECONDS.sleep(TTL.toNanos());
        ServerUse before = stage.look();
        double cpuBefore = ProcessCpu.seconds();
        TimeUnit.NANOSECONDS.sleep(INTERVALS * TTL.toNanos() / 3);
        double cpu = ProcessCpu.seconds() - cpuBefore;
        ServerUse use = stage.look().since(before);
        Map<Figure, Double> figures = new EnumMap<>(Figure.class);
        figures.put(Figure.SCRIPTS_PER_INTERVAL, (double) use.scripts() / INTERVALS);
        figures.put(Figure.CLIENT_CORES, cpu / (INTERVALS * TTL.toSeconds() / 3.0));
        return new Sample(id, "1,000 readers", kind, 0, figures, use.commands());
    }

    /** A thread that waits for a second read lease of a lock is refused. */
    private static Peer.Held inItsOwnThread(Peer peer, String name) throws InterruptedException {
        FutureTask<Peer.Held> reading = new FutureTask<>(() -> peer.acquire(name));
        new Thread(reading).start();
        try {
            return reading.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException("a reader failed", e.getCause());
        }
    }
}
