package io.leasehold.benchmarks.report;

import io.leasehold.benchmarks.measure.Figure;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.peer.PeerKind;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** All windows of one variant of one workload, which may be compared. */
final class Group {

    private final String workload;
    private final String variant;
    private final List<Sample> samples;

    private Group(String workload, String variant, List<Sample> samples) {
        this.workload = workload;
        this.variant = variant;
        this.samples = samples;
    }

    static List<Group> of(List<Sample> samples) {
        Map<List<String>, List<Sample>> byKey = new LinkedHashMap<>();
        for (Sample sample : samples) {
            byKey.computeIfAbsent(List.of(sample.workload(), sample.variant()), key -> new ArrayList<>())
                    .add(sample);
        }
        List<Group> groups = new ArrayList<>();
        byKey.forEach((key, members) -> groups.add(new Group(key.get(0), key.get(1), members)));
        return groups;
    }

    String workload() {
        return workload;
    }

    String variant() {
        return variant;
    }

    Set<PeerKind> peers() {
        Set<PeerKind> peers = new LinkedHashSet<>();
        samples.forEach(sample -> peers.add(sample.peer()));
        return peers;
    }

    /** The figures that any peer has; the first is the main one of the workload. */
    List<Figure> figures() {
        EnumSet<Figure> figures = EnumSet.noneOf(Figure.class);
        samples.forEach(sample -> figures.addAll(sample.figures().keySet()));
        return List.copyOf(figures);
    }

    Optional<Summary> summary(PeerKind peer, Figure figure) {
        Collection<Double> values = byRound(peer, figure).values();
        return values.isEmpty() ? Optional.empty() : Optional.of(Summary.of(values));
    }

    /** The ratio of a peer's figure to another's in the adjacent window of the same round. */
    Optional<Summary> ratio(PeerKind peer, PeerKind other, Figure figure) {
        Map<Integer, Double> others = byRound(other, figure);
        List<Double> ratios = new ArrayList<>();
        byRound(peer, figure).forEach((round, value) -> {
            double divisor = others.getOrDefault(round, 0.0);
            if (divisor > 0) {
                ratios.add(value / divisor);
            }
        });
        return ratios.isEmpty() ? Optional.empty() : Optional.of(Summary.of(ratios));
    }

    private Map<Integer, Double> byRound(PeerKind peer, Figure figure) {
        Map<Integer, Double> values = new LinkedHashMap<>();
        for (Sample sample : samples) {
            Double value = sample.figures().get(figure);
            if (sample.peer() == peer && value != null) {
                values.put(sample.round(), value);
            }
        }
        return values;
    }

    /** The calls and microseconds per pair of each command, from all windows of the peer together. */
    Map<String, double[]> commands(PeerKind peer) {
        Map<String, double[]> sums = new LinkedHashMap<>();
        double windows = 0;
        double operations = 0;
        for (Sample sample : samples) {
            if (sample.peer() == peer) {
                windows++;
                sample.commands().forEach((name, use) -> {
                    double[] sum = sums.computeIfAbsent(name, key -> new double[2]);
                    sum[0] += use.calls();
                    sum[1] += use.micros();
                });
                double perOperation = sample.figures().getOrDefault(Figure.COMMANDS, 0.0);
                long calls = sample.commands().values().stream()
                        .mapToLong(use -> use.calls())
                        .sum();
                operations += perOperation == 0 ? 0 : calls / perOperation;
            }
        }
        double divisor = operations > 0 ? operations : Math.max(1, windows);
        sums.values().forEach(sum -> {
            sum[1] = sum[1] / Math.max(1, sum[0]);
            sum[0] = sum[0] / divisor;
        });
        return sums;
    }
}
