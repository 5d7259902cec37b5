package io.leasehold.benchmarks.workload;

import static io.leasehold.benchmarks.peer.PeerKind.JEDIS;
import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD;
import static io.leasehold.benchmarks.peer.PeerKind.RAW;
import static io.leasehold.benchmarks.peer.PeerKind.REDISSON;
import static io.leasehold.benchmarks.peer.PeerKind.SPRING;

import io.leasehold.benchmarks.child.Worker;
import io.leasehold.benchmarks.measure.Figure;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.measure.ServerUse;
import io.leasehold.benchmarks.peer.PeerKind;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** e: the time from unlock in one JVM to the return of the waiter's lock in another. */
final class WakeUp implements Workload {

    private static final int PROCESSES = 2;

    @Override
    public String id() {
        return "e";
    }

    @Override
    public String title() {
        return "unlock until the waiter's lock returns, in another JVM";
    }

    @Override
    public void run(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        try (Stage stage = Stage.open()) {
            List<Worker> workers = stage.workers(PROCESSES);
            List<PeerKind> peers = plan.among(LEASEHOLD, RAW, REDISSON, JEDIS, SPRING);
            stage.connect(workers, peers);
            Rounds.run(plan, peers, samples, (kind, round) -> {
                ServerUse before = stage.look();
                HandOvers played = HandOvers.play(workers, kind, stage.ttlMillis(), plan.window());
                ServerUse use = stage.look().since(before);
                Map<Figure, Double> figures = played.figures();
                figures.put(Figure.SCRIPTS, (double) use.scripts() / played.holds());
                figures.put(Figure.COMMANDS, (double) use.calls() / played.holds());
                return new Sample(id(), PROCESSES + " JVMs", kind, round, figures, use.commands());
            });
        }
    }
}
