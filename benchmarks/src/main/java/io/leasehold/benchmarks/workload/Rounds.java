package io.leasehold.benchmarks.workload;

import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.peer.PeerKind;
import java.util.List;
import java.util.function.Consumer;

/**
 * The order of windows: A B C, A B C, so that a disturbance also affects the neighbours. The first rounds do not count:
 * the more code runs, the later it is compiled, and it would be measured uncompiled.
 */
final class Rounds {

    private static final int WARM_UPS = 3;
    private static final int QUICK_WARM_UPS = 2;

    private Rounds() {}

    /** One window of one peer. */
    interface Window {
        Sample measure(PeerKind peer, int round) throws InterruptedException;
    }

    static void run(Plan plan, List<PeerKind> peers, Consumer<Sample> samples, Window window)
            throws InterruptedException {
        int warmUps = Math.min(plan.thorough() ? WARM_UPS : QUICK_WARM_UPS, plan.rounds());
        for (int round = -warmUps; round < 0; round++) {
            for (PeerKind peer : peers) {
                window.measure(peer, round);
            }
        }
        for (int round = 0; round < plan.rounds(); round++) {
            for (PeerKind peer : peers) {
                samples.accept(window.measure(peer, round));
            }
        }
    }
}
