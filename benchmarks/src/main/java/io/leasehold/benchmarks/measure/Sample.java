package io.leasehold.benchmarks.measure;

import io.leasehold.benchmarks.peer.PeerKind;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;

/**
 * The figures of one peer in one window.
 *
 * @param workload the letter or word that selects it
 * @param variant the difference from other windows of the same workload
 * @param peer the peer
 * @param round the number of the adjacent windows, from zero
 * @param figures the numbers
 * @param commands the server's work in the window, if it was a server
 */
public record Sample(
        String workload,
        String variant,
        PeerKind peer,
        int round,
        Map<Figure, Double> figures,
        Map<String, CommandUse> commands) {

    /** Keeps the numbers in the order of their enumeration. */
    public Sample {
        EnumMap<Figure, Double> ordered = new EnumMap<>(Figure.class);
        ordered.putAll(figures);
        figures = Collections.unmodifiableMap(ordered);
        commands = Collections.unmodifiableMap(new TreeMap<>(commands));
    }

    /** The numbers of a window of pairs for a server without statistics. */
    public static Map<Figure, Double> pairs(Load load) {
        Map<Figure, Double> figures = pairs(load, ServerUse.NONE);
        figures.keySet().removeAll(List.of(Figure.SCRIPTS, Figure.COMMANDS, Figure.READS, Figure.SERVER_MICROS));
        return figures;
    }

    /** The numbers of a window of pairs. */
    public static Map<Figure, Double> pairs(Load load, ServerUse use) {
        double operations = Math.max(1, load.operations());
        Histogram waits = load.histogram();
        Map<Figure, Double> figures = new EnumMap<>(Figure.class);
        figures.put(Figure.PAIRS_PER_SECOND, load.operations() / load.seconds());
        figures.put(Figure.SCRIPTS, use.scripts() / operations);
        figures.put(Figure.COMMANDS, use.calls() / operations);
        figures.put(Figure.READS, use.reads() / operations);
        figures.put(Figure.SERVER_MICROS, use.cpuSeconds() * 1e6 / operations);
        figures.put(Figure.CLIENT_MICROS, load.cpuSeconds() * 1e6 / operations);
        if (!Double.isNaN(load.bytes())) {
            figures.put(Figure.CLIENT_BYTES, load.bytes() / operations);
        }
        figures.put(Figure.WAIT_P50_MICROS, waits.getValueAtPercentile(50) / 1e3);
        figures.put(Figure.WAIT_P99_MICROS, waits.getValueAtPercentile(99) / 1e3);
        figures.put(Figure.WAIT_P999_MILLIS, waits.getValueAtPercentile(99.9) / 1e6);
        figures.put(Figure.WAIT_MAX_MILLIS, waits.getMaxValue() / 1e6);
        if (load.perThread().size() > 1) {
            figures.put(Figure.MAX_OVER_MIN, load.maxOverMin());
        }
        return figures;
    }
}
