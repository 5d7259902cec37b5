package io.leasehold.benchmarks.workload;

import java.util.List;

/** All workloads, in the order in which they are measured. */
public final class Workloads {

    private Workloads() {}

    /** New ones. */
    public static List<Workload> all() {
        return List.of(
                Pairs.oneThread(),
                Pairs.manyThreads(),
                new HotLock(),
                new HotLockInProcesses(),
                new WakeUp(),
                HeldLocks.afterFewPairs(),
                HeldLocks.afterManyPairs(),
                new Reentry(),
                new HeapPerLease(),
                new RemoteWaiters(),
                new Stores());
    }
}
