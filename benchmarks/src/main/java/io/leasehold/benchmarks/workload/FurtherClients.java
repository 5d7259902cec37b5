package io.leasehold.benchmarks.workload;

import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD;
import static io.leasehold.benchmarks.peer.PeerKind.RAW;
import static io.leasehold.benchmarks.peer.PeerKind.REDISSON;

import io.leasehold.benchmarks.child.ClientCost;
import io.leasehold.benchmarks.child.Order;
import io.leasehold.benchmarks.child.Worker;
import io.leasehold.benchmarks.measure.Figure;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.peer.PeerKind;
import java.util.Map;
import java.util.function.Consumer;

/** Measures what a second client of the same server adds to its process: threads and memory outside of the heap. */
final class FurtherClients implements Workload {

    private static final int CLIENTS = 5;

    @Override
    public String id() {
        return "clients";
    }

    @Override
    public String title() {
        return "a further client of the same server in one process, mean of " + CLIENTS;
    }

    @Override
    public void run(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        for (PeerKind kind : plan.among(LEASEHOLD, RAW, REDISSON)) {
            try (Stage stage = Stage.open()) {
                Worker worker = stage.workers(1).get(0);
                worker.send(new Order(
                        Order.Verb.FURTHER_CLIENTS,
                        kind,
                        stage.ttlMillis(),
                        "used-" + kind,
                        CLIENTS,
                        System.nanoTime(),
                        0));
                ClientCost cost = worker.answer().requireClient();
                Map<Figure, Double> figures = Map.of(
                        Figure.THREADS_PER_CLIENT,
                        cost.threads(),
                        Figure.DIRECT_KILOBYTES_PER_CLIENT,
                        cost.directBytes() / 1e3);
                samples.accept(new Sample(id(), "same options", kind, 0, figures, Map.of()));
            }
        }
    }
}
