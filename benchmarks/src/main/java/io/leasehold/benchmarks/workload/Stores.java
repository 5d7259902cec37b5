package io.leasehold.benchmarks.workload;

import io.leasehold.Fairness;
import io.leasehold.benchmarks.measure.Drive;
import io.leasehold.benchmarks.measure.Load;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.measure.ServerUse;
import io.leasehold.benchmarks.measure.Threads;
import io.leasehold.benchmarks.peer.Peer;
import io.leasehold.benchmarks.peer.PeerKind;
import io.leasehold.servers.ServerUnavailableException;
import java.util.Map;
import java.util.function.Consumer;

/** Leasehold over each of its stores: one thread, distinct names, nobody contends. */
final class Stores implements Workload {

    private static final ServerUse NOT_COUNTED = new ServerUse(Map.of(), 0);

    @Override
    public String id() {
        return "stores";
    }

    @Override
    public String title() {
        return "1 thread, distinct names, acquire and release, over each store";
    }

    @Override
    public void run(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        for (StoreKind store : StoreKind.values()) {
            try (StoreKind.Started started = store.start();
                    Peer peer = PeerKind.open(started.uri(), Stage.TTL, Fairness.BOUNDED_LOCAL_HAND_OVER)) {
                Drive drive = new Drive(peer, 1, Threads.platform());
                Rounds.run(plan, plan.among(PeerKind.LEASEHOLD), samples, (kind, round) -> {
                    Load load = drive.run(
                            Pairs::names, Drive.soonAtNanos(1), plan.window().toNanos());
                    return new Sample(id(), store.label(), kind, round, Sample.pairs(load, NOT_COUNTED), Map.of());
                });
            } catch (ServerUnavailableException e) {
                System.err.println("stores, " + store.label() + ": left out: " + e.getMessage());
            }
        }
    }
}
