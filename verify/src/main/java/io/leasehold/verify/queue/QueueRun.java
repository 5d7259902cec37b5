package io.leasehold.verify.queue;

import io.leasehold.spi.OwnerToken;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import io.leasehold.verify.run.SimulatedRun;
import java.util.HashMap;
import java.util.Map;

/** A run, as seen by a model of a cluster and its connections. */
public final class QueueRun {

    /** At network 1, a connection breaks once in this many calls. */
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

    /** The process of the cluster. */
    public VirtualRuntime host() {
        return host;
    }

    /** Records that a fault has happened. */
    public void saw(QueueFault fault) {
        run.saw(fault);
    }

    /** Whether the faults have ended. */
    public boolean isCalm() {
        return run.isCalm();
    }

    boolean drawsReset(QueueFault fault) {
        return run.drawsReset(fault, CALLS_OF_A_RESET);
    }

    long pauseNanos(QueueFault point) {
        return run.pauseNanos(point);
    }

    /** Records that the cluster has removed all entries of this owner token on request. */
    void withdrawn(OwnerToken owner) {
        withdrawnAt.putIfAbsent(owner.publicId(), world().elapsedNanos());
    }

    /** Counts an event. */
    public void counted(String what) {
        run.counts().saw(what, 1);
    }

    /** Records a violation. */
    public void problem(String what) {
        run.problem(what);
    }

    /** Records that an entry was created, by a request that may have been sent long before. */
    public void made(String id) {
        if (withdrawnAt.containsKey(id)) {
            run.problem("withdrawn: an entry was made after its removal was confirmed");
        }
    }

    /** Records that an entry was created by a request that was sent then. */
    public void made(String id, long sentAtNanos) {
        Long withdrawn = withdrawnAt.get(id);
        if (withdrawn != null && sentAtNanos > withdrawn) {
            run.problem("withdrawn: an entry was made anew after its removal was confirmed");
        }
    }
}
