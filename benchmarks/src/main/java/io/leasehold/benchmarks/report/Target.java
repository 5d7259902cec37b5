package io.leasehold.benchmarks.report;

import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD;
import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD_PERMIT;
import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD_READ;
import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD_STRICT;
import static io.leasehold.benchmarks.peer.PeerKind.RAW;
import static io.leasehold.benchmarks.peer.PeerKind.REDISSON;
import static io.leasehold.benchmarks.peer.PeerKind.REDISSON_READ;

import io.leasehold.benchmarks.measure.Figure;
import io.leasehold.benchmarks.peer.PeerKind;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A target: a figure, or its ratio to that of another peer in the same run.
 *
 * @param workload the id of the workload
 * @param variant the prefix of the variant
 * @param peer the peer of Leasehold
 * @param figure the figure
 * @param other the peer to compare with, or null for the figure itself
 * @param bound the minimum if more is better, otherwise the maximum
 */
record Target(
        String workload,
        String variant,
        PeerKind peer,
        Figure figure,
        @Nullable PeerKind other,
        double bound) {

    /** The outcome of a target in a run. */
    record Verdict(Target target, String variant, Summary reached, boolean met) {}

    static List<Target> all() {
        return List.of(
                new Target("a", "1 thread", LEASEHOLD, Figure.PAIRS_PER_SECOND, RAW, 1.0),
                new Target("a", "1 thread", LEASEHOLD, Figure.SCRIPTS, null, 2),
                new Target("a", "1 thread", LEASEHOLD, Figure.COMMANDS, null, 9),
                new Target("a", "1 thread", LEASEHOLD, Figure.CLIENT_BYTES, RAW, 2),
                new Target("a", "1 thread", LEASEHOLD, Figure.SERVER_MICROS, RAW, 1.7),
                new Target("b", "16 threads", LEASEHOLD, Figure.PAIRS_PER_SECOND, RAW, 1.0),
                new Target("b", "64 threads", LEASEHOLD, Figure.PAIRS_PER_SECOND, RAW, 1.2),
                new Target("b", "1000 virtual threads", LEASEHOLD, Figure.PAIRS_PER_SECOND, RAW, 1.4),
                new Target("b", "64 threads", LEASEHOLD, Figure.SERVER_MICROS, RAW, 1.0),
                new Target("c", "8 threads", LEASEHOLD, Figure.PAIRS_PER_SECOND, REDISSON, 15),
                new Target("c", "8 threads", LEASEHOLD, Figure.MAX_OVER_MIN, null, 1.1),
                new Target("d", "2 JVMs", LEASEHOLD, Figure.PAIRS_PER_SECOND, REDISSON, 15),
                new Target("d", "4 JVMs", LEASEHOLD, Figure.PAIRS_PER_SECOND, REDISSON, 15),
                new Target("d", "2 JVMs", LEASEHOLD_STRICT, Figure.PAIRS_PER_SECOND, REDISSON, 2),
                new Target("d", "4 JVMs", LEASEHOLD_STRICT, Figure.PAIRS_PER_SECOND, REDISSON, 3),
                new Target("d", "", LEASEHOLD_STRICT, Figure.COMMANDS, null, 16),
                new Target("turns", "", LEASEHOLD, Figure.SECONDS_PER_THOUSAND_TURNS, REDISSON, 0.8),
                new Target("d", "", LEASEHOLD, Figure.WAIT_P999_MILLIS, null, 50),
                new Target("d", "", LEASEHOLD_STRICT, Figure.WAIT_P999_MILLIS, null, 50),
                new Target("e", "2 JVMs", LEASEHOLD, Figure.HAND_OVER_P50_MICROS, REDISSON, 0.65),
                new Target("f", "all up", LEASEHOLD, Figure.WAIT_P50_MICROS, RAW, 1.25),
                new Target("f", "1 frozen", LEASEHOLD, Figure.ADDED_P50_MICROS, null, 0),
                new Target("f", "2 killed", LEASEHOLD, Figure.ADDED_P50_MICROS, null, 0),
                new Target("f", "1 frozen", LEASEHOLD, Figure.ADDED_P99_MILLIS, null, 5),
                new Target("f", "2 killed", LEASEHOLD, Figure.ADDED_P99_MILLIS, null, 5),
                new Target("g", "", LEASEHOLD, Figure.LOST, null, 0),
                new Target("g", "", LEASEHOLD, Figure.SCRIPTS_PER_SECOND, null, 200),
                new Target("g", "", LEASEHOLD, Figure.CLIENT_CORES, null, 0.05),
                new Target("reentry", "", LEASEHOLD, Figure.NANOS_PER_REENTRY, null, 1_000),
                new Target("clients", "", LEASEHOLD, Figure.THREADS_PER_CLIENT, null, 1),
                new Target("clients", "", LEASEHOLD, Figure.DIRECT_KILOBYTES_PER_CLIENT, null, 300),
                new Target("heap", "", LEASEHOLD, Figure.BYTES_PER_LEASE, null, 450),
                new Target("readers", "", LEASEHOLD_READ, Figure.PAIRS_PER_SECOND, REDISSON_READ, 30),
                // Holds of up to 6 ms that began within 20 ms, two round trips, and what a busy machine adds.
                new Target("writer", "", LEASEHOLD_READ, Figure.WAIT_P50_MICROS, null, 27_000),
                new Target("held-reads", "", LEASEHOLD_READ, Figure.SCRIPTS_PER_INTERVAL, null, 1),
                new Target("permit", "1 thread", LEASEHOLD_PERMIT, Figure.PAIRS_PER_SECOND, LEASEHOLD, 1 / 1.1),
                new Target("permit", "1 thread", LEASEHOLD_PERMIT, Figure.SERVER_MICROS, LEASEHOLD, 1.1),
                // Permits are not passed on within a process.
                new Target("permit", "8 threads", LEASEHOLD_PERMIT, Figure.PAIRS_PER_SECOND, LEASEHOLD_STRICT, 1 / 1.1),
                new Target("waiters", "", LEASEHOLD, Figure.SCRIPTS_PER_RECHECK, null, 1));
    }

    Optional<Verdict> judge(Group group) {
        if (!group.workload().equals(workload) || !group.variant().startsWith(variant)) {
            return Optional.empty();
        }
        Optional<Summary> reached = other == null ? group.summary(peer, figure) : group.ratio(peer, other, figure);
        // The server's clock ticks during a window, and renewals happen: a thousandth more still counts as "exactly".
        return reached.map(summary -> new Verdict(
                this,
                group.variant(),
                summary,
                figure.moreIsBetter() ? summary.median() >= bound : summary.median() <= bound * 1.001));
    }

    String text() {
        return figure.label()
                + (figure.moreIsBetter() ? " ≥ " : " ≤ ")
                + Numbers.show(bound)
                + (other == null ? "" : "× " + other.label());
    }
}
