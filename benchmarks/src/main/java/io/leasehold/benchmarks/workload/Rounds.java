package io.leasehold.benchmarks.workload;

import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.peer.PeerKind;
import java.util.List;
import java.util.function.Consumer;

/** The order of windows: all peers once to warm up, then A B C, A B C, so that what disturbs one disturbs its neighbour. */
final class Rounds {

    private Rounds() {}

    /** One window of one peer. */
    interface Window {
        Sample measure(PeerKind peer, int round) throws InterruptedException;
    }

    static void run(Plan plan, List<PeerKind> peers, Consumer<Sample> samples, Window window)
            throws InterruptedException {
        for (PeerKind peer : peers) {
            window.measure(peer, -1);
        }
        for (int round = 0; round < plan.rounds(); round++) {
            for (PeerKind peer : peers) {
                samples.accept(window.measure(peer, round));
            }
        }
    }
}
