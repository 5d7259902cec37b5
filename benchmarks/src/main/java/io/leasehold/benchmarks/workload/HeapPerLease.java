package io.leasehold.benchmarks.workload;

import static io.leasehold.benchmarks.peer.PeerKind.JEDIS;
import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD;
import static io.leasehold.benchmarks.peer.PeerKind.RAW;
import static io.leasehold.benchmarks.peer.PeerKind.REDISSON;
import static io.leasehold.benchmarks.peer.PeerKind.SHEDLOCK;
import static io.leasehold.benchmarks.peer.PeerKind.SPRING;

import io.leasehold.benchmarks.child.Order;
import io.leasehold.benchmarks.child.Worker;
import io.leasehold.benchmarks.measure.Figure;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.peer.PeerKind;
import java.util.Map;
import java.util.function.Consumer;

/** Measures the heap of a held lock, in a JVM that does nothing else. */
final class HeapPerLease implements Workload {

    private static final int LOCKS = 20_000;

    @Override
    public String id() {
        return "heap";
    }

    @Override
    public String title() {
        return String.format(
                "heap per lock, %,d held by one thread (its name and the caller's handle included)", LOCKS);
    }

    @Override
    public void run(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        for (PeerKind kind : plan.among(LEASEHOLD, RAW, REDISSON, JEDIS, SPRING, SHEDLOCK)) {
            try (Stage stage = Stage.open()) {
                Worker worker = stage.workers(1).get(0);
                worker.send(new Order(
                        Order.Verb.HEAP, kind, stage.ttlMillis(), "held-" + kind, LOCKS, System.nanoTime(), 0));
                Map<Figure, Double> figures =
                        Map.of(Figure.BYTES_PER_LEASE, worker.answer().bytesPerLease());
                samples.accept(new Sample(id(), "ttl 30 s", kind, 0, figures, Map.of()));
            }
        }
    }
}
