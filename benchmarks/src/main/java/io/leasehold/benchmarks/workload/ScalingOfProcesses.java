package io.leasehold.benchmarks.workload;

import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD;
import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD_STRICT;
import static io.leasehold.benchmarks.peer.PeerKind.REDISSON;

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

/** Measures a pair with a growing number of processes: of one hot lock, and of locks without contention. */
final class ScalingOfProcesses implements Workload {

    private static final int THREADS = 2;

    @Override
    public String id() {
        return "scale-processes";
    }

    @Override
    public String title() {
        return "1 to 8 JVMs with " + THREADS + " threads each";
    }

    @Override
    public boolean isSeries() {
        return true;
    }

    @Override
    public void run(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        List<PeerKind> kinds = plan.among(LEASEHOLD, LEASEHOLD_STRICT, REDISSON);
        try (Stage stage = Stage.open()) {
            for (int processes : new int[] {1, 2, 4, 8}) {
                List<Worker> workers = stage.workers(processes);
                stage.connect(workers, kinds);
                measure(stage, plan, workers, kinds, Order.Verb.PAIRS, processes + " JVMs, hot lock", samples);
                List<PeerKind> uncontended = plan.among(LEASEHOLD, REDISSON);
                measure(stage, plan, workers, uncontended, Order.Verb.DISTINCT, processes + " JVMs, distinct", samples);
            }
        }
    }

    private void measure(
            Stage stage,
            Plan plan,
            List<Worker> workers,
            List<PeerKind> kinds,
            Order.Verb verb,
            String variant,
            Consumer<Sample> samples)
            throws InterruptedException {
        Rounds.run(plan, kinds, samples, (kind, round) -> {
            ServerUse before = stage.look();
            long startAtNanos = Drive.soonAtNanos(workers.size());
            for (int i = 0; i < workers.size(); i++) {
                String name = verb == Order.Verb.DISTINCT ? "jvm" + i : "hot-" + workers.size();
                workers.get(i)
                        .send(new Order(
                                verb,
                                kind,
                                stage.ttlMillis(),
                                name,
                                THREADS,
                                startAtNanos,
                                plan.window().toNanos()));
            }
            List<Load> loads = new ArrayList<>();
            for (Worker worker : workers) {
                loads.add(worker.answer().requireLoad());
            }
            ServerUse use = stage.look().since(before);
            return new Sample(id(), variant, kind, round, Sample.pairs(Load.merge(loads), use), use.commands());
        });
    }
}
