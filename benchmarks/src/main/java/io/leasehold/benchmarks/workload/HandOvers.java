package io.leasehold.benchmarks.workload;

import io.leasehold.benchmarks.child.Order;
import io.leasehold.benchmarks.child.Span;
import io.leasehold.benchmarks.child.Worker;
import io.leasehold.benchmarks.measure.Drive;
import io.leasehold.benchmarks.measure.Figure;
import io.leasehold.benchmarks.peer.PeerKind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** One window in which processes take the same lock in turn, each waiting while another holds it. */
final class HandOvers {

    private static final String NAME = "passed-on";

    private final long[] sortedNanos;
    private final int holds;

    /** A hold, and its process. */
    private record Turn(int process, Span span) {}

    private HandOvers(long[] sortedNanos, int holds) {
        this.sortedNanos = sortedNanos;
        this.holds = holds;
    }

    static HandOvers play(List<Worker> workers, PeerKind kind, long ttlMillis, Duration window)
            throws InterruptedException {
        Order order = new Order(
                Order.Verb.HAND_OVERS, kind, ttlMillis, NAME, 1, Drive.soonAtNanos(workers.size()), window.toNanos());
        workers.forEach(worker -> worker.send(order));
        List<Turn> turns = new ArrayList<>();
        for (int process = 0; process < workers.size(); process++) {
            for (Span span : workers.get(process).answer().spans()) {
                turns.add(new Turn(process, span));
            }
        }
        turns.sort(Comparator.comparingLong(turn -> turn.span().acquiredAtNanos()));
        return new HandOvers(handOvers(turns), turns.size());
    }

    /** Counts only hand-overs for which the other process was already waiting at the release. */
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

    /** All holds, including those that did not begin with a hand-over. */
    int holds() {
        return holds;
    }

    /** The times of the hand-overs; the caller may add figures. */
    Map<Figure, Double> figures() {
        if (sortedNanos.length == 0) {
            throw new IllegalStateException("no lock was ever handed over between " + holds + " holds");
        }
        Map<Figure, Double> figures = new EnumMap<>(Figure.class);
        figures.put(Figure.HAND_OVER_P50_MICROS, sortedNanos[sortedNanos.length / 2] / 1e3);
        figures.put(Figure.HAND_OVER_P99_MICROS, sortedNanos[(int) (sortedNanos.length * 0.99)] / 1e3);
        figures.put(Figure.HAND_OVER_MAX_MICROS, sortedNanos[sortedNanos.length - 1] / 1e3);
        return figures;
    }
}
