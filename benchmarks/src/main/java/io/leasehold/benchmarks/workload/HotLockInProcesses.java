package io.leasehold.benchmarks.workload;

import static io.leasehold.benchmarks.peer.PeerKind.JEDIS;
import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD;
import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD_STRICT;
import static io.leasehold.benchmarks.peer.PeerKind.RAW;
import static io.leasehold.benchmarks.peer.PeerKind.REDISSON;
import static io.leasehold.benchmarks.peer.PeerKind.REDISSON_FAIR;
import static io.leasehold.benchmarks.peer.PeerKind.SPRING;

import io.leasehold.benchmarks.child.Order;
import io.leasehold.benchmarks.child.Worker;
import io.leasehold.benchmarks.measure.Drive;
import io.leasehold.benchmarks.measure.Load;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.measure.ServerUse;
import io.leasehold.benchmarks.peer.PeerKind;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** d: four threads in each of two and of four JVMs request the same lock all the time, and release it at once. */
final class HotLockInProcesses implements Workload {

    private static final int THREADS = 4;

    @Override
    public String id() {
        return "d";
    }

    @Override
    public String title() {
        return "one hot lock, 2 and 4 JVMs with " + THREADS + " threads each";
    }

    @Override
    public void run(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        try (Stage stage = Stage.open()) {
            measure(stage, plan, 2, samples);
            measure(stage, plan, 4, samples);
        }
    }

    private void measure(Stage stage, Plan plan, int processes, Consumer<Sample> samples) throws InterruptedException {
        List<Worker> workers = stage.workers(processes);
        List<PeerKind> peers = plan.among(LEASEHOLD, LEASEHOLD_STRICT, RAW, REDISSON, REDISSON_FAIR, JEDIS, SPRING);
        stage.connect(workers, peers);
        Rounds.run(plan, peers, samples, (kind, round) -> window(this, stage, plan, workers, THREADS, kind, round));
    }

    /** One window in which so many threads of each child want one lock. */
    static Sample window(
            Workload workload, Stage stage, Plan plan, List<Worker> workers, int threads, PeerKind kind, int round)
            throws InterruptedException {
        ServerUse before = stage.look();
        Order order = new Order(
                Order.Verb.PAIRS,
                kind,
                stage.ttlMillis(),
                "hot-" + workers.size(),
                threads,
                Drive.soonAtNanos(workers.size()),
                plan.window().toNanos());
        workers.forEach(worker -> worker.send(order));
        List<Load> loads = new ArrayList<>();
        for (Worker worker : workers) {
            loads.add(worker.answer().requireLoad());
        }
        ServerUse use = stage.look().since(before);
        return new Sample(
                workload.id(),
                workers.size() + " JVMs × " + threads,
                kind,
                round,
                Sample.pairs(Load.merge(loads), use),
                use.commands());
    }
}
