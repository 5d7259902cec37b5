package io.leasehold.benchmarks.workload;

import static io.leasehold.benchmarks.peer.PeerKind.JEDIS;
import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD;
import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD_STRICT;
import static io.leasehold.benchmarks.peer.PeerKind.RAW;
import static io.leasehold.benchmarks.peer.PeerKind.REDISSON;
import static io.leasehold.benchmarks.peer.PeerKind.REDISSON_FAIR;
import static io.leasehold.benchmarks.peer.PeerKind.SPRING;

import io.leasehold.benchmarks.child.Worker;
import io.leasehold.benchmarks.measure.Figure;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.peer.PeerKind;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * One thread in each of three JVMs wants the same lock all the time, at a server that syncs to disk before every answer.
 * No thread has a neighbour to hand the lock to, so every turn goes through the server.
 */
final class DurableTurns implements Workload {

    private static final int PROCESSES = 3;
    private static final double TURNS = 1_000;

    @Override
    public String id() {
        return "turns";
    }

    @Override
    public String title() {
        return "one hot lock, " + PROCESSES + " JVMs with a thread each, appendfsync always";
    }

    @Override
    public void run(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        try (Stage stage = Stage.durable()) {
            List<Worker> workers = stage.workers(PROCESSES);
            List<PeerKind> peers = plan.among(LEASEHOLD, LEASEHOLD_STRICT, RAW, REDISSON, REDISSON_FAIR, JEDIS, SPRING);
            stage.connect(workers, peers);
            Rounds.run(plan, peers, samples, (kind, round) -> {
                Sample pairs = HotLockInProcesses.window(this, stage, plan, workers, 1, kind, round);
                Map<Figure, Double> figures = new EnumMap<>(pairs.figures());
                double perSecond = Objects.requireNonNull(figures.remove(Figure.PAIRS_PER_SECOND));
                figures.put(Figure.SECONDS_PER_THOUSAND_TURNS, TURNS / perSecond);
                return new Sample(id(), pairs.variant(), kind, round, figures, pairs.commands());
            });
        }
    }
}
