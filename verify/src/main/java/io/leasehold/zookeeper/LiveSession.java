package io.leasehold.zookeeper;

import io.leasehold.verify.queue.QueueFault;
import io.leasehold.verify.queue.QueueRun;
import java.util.HashSet;
import java.util.Set;

/**
 * A session in the model of an ensemble.
 *
 * @param <C> its client
 */
final class LiveSession<C> {

    final long id;
    final long timeoutNanos;
    final C client;
    final Set<String> watched = new HashSet<>();
    long heardAtNanos;
    /** The newest transaction that its member has shown to it. */
    long seen;
    /** The transaction that has ended it; this value if none has yet. */
    long endedWith = Long.MAX_VALUE;

    long endedAtNanos;

    LiveSession(long id, long timeoutNanos, C client) {
        this.id = id;
        this.timeoutNanos = timeoutNanos;
        this.client = client;
    }

    /** Records a sign of life at the leader; it is as late as the store assumes at worst. */
    void heard(QueueRun run, long tickNanos) {
        long lateNanos = run.world().randomBelow(tickNanos / 2);
        if (run.world().chance(0.1) && !run.isCalm()) {
            run.saw(QueueFault.EXTENSION_LOST);
            lateNanos = tickNanos;
        }
        heardAtNanos = Math.max(heardAtNanos, run.host().nanoTime() - lateNanos);
    }

    /** The time for which the ensemble still keeps it without another sign of life. */
    long leftNanos(long nowNanos) {
        return heardAtNanos + timeoutNanos - nowNanos;
    }
}
