package io.leasehold.verify.queue;

import io.leasehold.spi.OwnerToken;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import io.leasehold.verify.run.SimulatedRun;
import java.util.HashMap;
import java.util.Map;

/** The run as a model of a cluster and the ways to it see it. */
public final class QueueRun {

    /** A connection of a network of 1 breaks once in so many calls. */
    private static final double CALLS_OF_A_RESET = 1_000;

    private final SimulatedRun<QueueFault> run;
    private final VirtualRuntime host;
    private final Map<String, Long> withdrawnAt = new HashMap<>();

    QueueRun(SimulatedRun<QueueFault> run) {
        this.run = run;
        this.host = run.world().process("cluster");
    }

    /** The world. */
    public VirtualWorld world() {
        return run.world();
    }

    /** The process that the cluster is. */
    public VirtualRuntime host() {
        return host;
    }

    /** A fault has happened. */
    public void saw(QueueFault fault) {
        run.saw(fault);
    }

    /** Whether faults have ended. */
    public boolean isCalm() {
        return run.isCalm();
    }

    boolean drawsReset(QueueFault fault) {
        return run.drawsReset(fault, CALLS_OF_A_RESET);
    }

    long pauseNanos(QueueFault point) {
        return run.pauseNanos(point);
    }

    /** The cluster was told to end all that this owner token has, and has done so. */
    void withdrawn(OwnerToken owner) {
        withdrawnAt.putIfAbsent(owner.publicId(), world().elapsedNanos());
    }

    /** Something worth a count has happened. */
    public void counted(String what) {
        run.counts().saw(what, 1);
    }

    /** Something must not have happened. */
    public void problem(String what) {
        run.problem(what);
    }

    /** An entry is made, by a request that may have been sent long before. */
    public void made(String id) {
        if (withdrawnAt.containsKey(id)) {
            run.problem("withdrawn: an entry was made after its removal was confirmed");
        }
    }

    /** An entry is made by a request that was sent then. */
    public void made(String id, long sentAtNanos) {
        Long withdrawn = withdrawnAt.get(id);
        if (withdrawn != null && sentAtNanos > withdrawn) {
            run.problem("withdrawn: an entry was made anew after its removal was confirmed");
        }
    }
}
