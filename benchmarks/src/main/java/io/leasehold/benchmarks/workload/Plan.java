package io.leasehold.benchmarks.workload;

import io.leasehold.benchmarks.peer.PeerKind;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * The extent of the measurement.
 *
 * @param peers the peers to measure, if a workload has them
 * @param stores the prefixes of the labels of the stores to measure, if a workload has several; all if empty
 * @param rounds the number of adjacent windows of each peer, after the warm-up
 * @param window the length of each window
 * @param thorough whether to include variants that take long
 */
public record Plan(List<PeerKind> peers, List<String> stores, int rounds, Duration window, boolean thorough) {

    /** Keeps a copy. */
    public Plan {
        peers = List.copyOf(peers);
        stores = List.copyOf(stores);
    }

    /** Whether the store with this label is measured. */
    boolean has(String label) {
        return stores.isEmpty()
                || stores.stream().anyMatch(store -> label.regionMatches(true, 0, store, 0, store.length()));
    }

    /** The measured peers of the workload, in the workload's order. */
    List<PeerKind> among(PeerKind... workload) {
        return Arrays.stream(workload).filter(peers::contains).toList();
    }
}
