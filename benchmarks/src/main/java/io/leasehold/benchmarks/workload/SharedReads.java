package io.leasehold.benchmarks.workload;

import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD_READ;
import static io.leasehold.benchmarks.peer.PeerKind.REDISSON_READ;

import io.leasehold.benchmarks.child.Worker;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.peer.PeerKind;
import java.util.List;
import java.util.function.Consumer;

/** readers: sixteen threads in each of four JVMs read under the same lock all the time. */
final class SharedReads implements Workload {

    private static final int PROCESSES = 4;
    private static final int THREADS = 16;

    @Override
    public String id() {
        return "readers";
    }

    @Override
    public String title() {
        return PROCESSES * THREADS + " readers of one lock, " + PROCESSES + " JVMs with " + THREADS + " threads each";
    }

    @Override
    public void run(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        List<PeerKind> peers = plan.among(LEASEHOLD_READ, REDISSON_READ);
        try (Stage stage = Stage.open()) {
            List<Worker> workers = stage.workers(PROCESSES);
            stage.connect(workers, peers);
            Rounds.run(
                    plan,
                    peers,
                    samples,
                    (kind, round) -> HotLockInProcesses.window(this, stage, plan, workers, THREADS, kind, round));
        }
    }
}
