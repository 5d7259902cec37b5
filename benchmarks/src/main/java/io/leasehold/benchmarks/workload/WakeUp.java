package io.leasehold.benchmarks.workload;

import static io.leasehold.benchmarks.peer.PeerKind.JEDIS;
import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD;
import static io.leasehold.benchmarks.peer.PeerKind.RAW;
import static io.leasehold.benchmarks.peer.PeerKind.REDISSON;
import static io.leasehold.benchmarks.peer.PeerKind.SPRING;

import io.leasehold.benchmarks.child.Order;
import io.leasehold.benchmarks.child.Span;
import io.leasehold.benchmarks.child.Worker;
import io.leasehold.benchmarks.measure.Drive;
import io.leasehold.benchmarks.measure.Figure;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.measure.ServerUse;
import io.leasehold.benchmarks.peer.PeerKind;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** e: how long it takes from unlock in one JVM to the return of the waiter's lock in another. */
final class WakeUp implements Workload {

    private static final int PROCESSES = 2;
    private static final String NAME = "passed-on";

    /** A hold, and whose. */
    private record Turn(int process, Span span) {}

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
                List<Turn> turns = play(stage, plan, workers, kind);
                ServerUse use = stage.look().since(before);
                return new Sample(
                        id(), PROCESSES + " JVMs", kind, round, figures(handOvers(turns), turns, use), use.commands());
            });
        }
    }

    private static List<Turn> play(Stage stage, Plan plan, List<Worker> workers, PeerKind kind)
            throws InterruptedException {
        Order order = new Order(
                Order.Verb.HAND_OVERS,
                kind,
                stage.ttlMillis(),
                NAME,
                1,
                Drive.soonAtNanos(PROCESSES),
                plan.window().toNanos());
        workers.forEach(worker -> worker.send(order));
        List<Turn> turns = new ArrayList<>();
        for (int process = 0; process < workers.size(); process++) {
            for (Span span : workers.get(process).answer().spans()) {
                turns.add(new Turn(process, span));
            }
        }
        turns.sort(Comparator.comparingLong(turn -> turn.span().acquiredAtNanos()));
        return turns;
    }

    /** Only where the other process was waiting already when the holder let go. */
    private static long[] handOvers(List<Turn> turns) {
        List<Long> nanos = new ArrayList<>();
        for (int i = 1; i < turns.size(); i++) {
            Turn before = turns.get(i - 1);
            Turn after = turns.get(i);
            long releasing = before.span().releasingAtNanos();
            if (after.process() != before.process() && after.span().requestedAtNanos() - releasing < 0) {
                nanos.add(after.span().acquiredAtNanos() - releasing);
            }
        }
        long[] sorted = nanos.stream().mapToLong(Long::longValue).toArray();
        Arrays.sort(sorted);
        return sorted;
    }

    private static Map<Figure, Double> figures(long[] sorted, List<Turn> turns, ServerUse use) {
        if (sorted.length == 0) {
            throw new IllegalStateException("no lock was ever handed over between " + turns.size() + " holds");
        }
        Map<Figure, Double> figures = new EnumMap<>(Figure.class);
        figures.put(Figure.HAND_OVER_P50_MICROS, sorted[sorted.length / 2] / 1e3);
        figures.put(Figure.HAND_OVER_P99_MICROS, sorted[(int) (sorted.length * 0.99)] / 1e3);
        figures.put(Figure.HAND_OVER_MAX_MICROS, sorted[sorted.length - 1] / 1e3);
        figures.put(Figure.SCRIPTS, (double) use.scripts() / turns.size());
        figures.put(Figure.COMMANDS, (double) use.calls() / turns.size());
        return figures;
    }
}
