package io.leasehold.benchmarks.workload;

import java.util.List;

/** All workloads, in the order of measurement. */
public final class Workloads {

    private Workloads() {}

    /** Creates them. */
    public static List<Workload> all() {
        return List.of(
                Pairs.oneThread(),
                Pairs.manyThreads(),
                new HotLock(),
                new HotLockInProcesses(),
                new DurableTurns(),
                new WakeUp(),
                new QuorumPairs(),
                HeldLocks.afterFewPairs(),
                HeldLocks.afterManyPairs(),
                new Reentry(),
                new HeapPerLease(),
                new FurtherClients(),
                new RemoteWaiters(),
                new SharedReads(),
                new WriterAmongReaders(),
                HeldReads.ofOneLock(),
                HeldReads.ofDistinctLocks(),
                new OnePermit(),
                Stores.pairs(),
                Stores.hotLock(),
                Stores.handOvers(),
                Scaling.ofWaiters(),
                Scaling.ofNames(),
                new ScalingOfProcesses(),
                new ScalingOfMasters(),
                new CommandLine());
    }
}
