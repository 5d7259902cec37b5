package io.leasehold.benchmarks.workload;

import io.leasehold.benchmarks.peer.PeerKind;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * How much is measured.
 *
 * @param peers who takes part, where a workload has him
 * @param stores the beginnings of the labels of those that take part, where a workload has several; all if empty
 * @param rounds adjacent windows of each peer, after those that warm up
 * @param window the length of each
 * @param thorough whether variants that take long are measured too
 */
public record Plan(List<PeerKind> peers, List<String> stores, int rounds, Duration window, boolean thorough) {

    /** Keeps a copy. */
    public Plan {
        peers = List.copyOf(peers);
        stores = List.copyOf(stores);
    }

    /** Whether the store with this label takes part. */
    boolean has(String label) {
        return stores.isEmpty()
                || stores.stream().anyMatch(store -> label.regionMatches(true, 0, store, 0, store.length()));
    }

    /** Those of the workload that take part, in the workload's order. */
    List<PeerKind> among(PeerKind... workload) {
        return Arrays.stream(workload).filter(peers::contains).toList();
    }
}
