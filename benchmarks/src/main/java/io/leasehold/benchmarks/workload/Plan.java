package io.leasehold.benchmarks.workload;

import io.leasehold.benchmarks.peer.PeerKind;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * How much is measured.
 *
 * @param peers who takes part, where a workload has him
 * @param rounds adjacent windows of each peer, after those that warm up
 * @param window the length of each
 * @param thorough whether variants that take long are measured too
 */
public record Plan(List<PeerKind> peers, int rounds, Duration window, boolean thorough) {

    /** Keeps a copy. */
    public Plan {
        peers = List.copyOf(peers);
    }

    /** Those of the workload that take part, in the workload's order. */
    List<PeerKind> among(PeerKind... workload) {
        return Arrays.stream(workload).filter(peers::contains).toList();
    }
}
