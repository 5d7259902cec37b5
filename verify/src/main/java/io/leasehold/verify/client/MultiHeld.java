package io.leasehold.verify.client;

import io.leasehold.LockName;
import io.leasehold.MultiLease;
import io.leasehold.ReleaseOutcome;
import io.leasehold.simulator.history.HistoryEvent;
import io.leasehold.simulator.history.HistorySink;

/** Several locks held as one; each is recorded as a lease of its own. */
final class MultiHeld implements Contender.Held {

    private final MultiLease lease;
    private final String first;
    private final String process;
    private final HistorySink sink;

    private MultiHeld(MultiLease lease, String first, String process, HistorySink sink) {
        this.lease = lease;
        this.first = first;
        this.process = process;
        this.sink = sink;
    }

    static MultiHeld acquired(MultiLease lease, String first, String process, HistorySink sink) {
        long at = System.nanoTime();
        long until = at + lease.remainingValidity().toNanos();
        for (LockName name : lease.lockNames()) {
            sink.add(new HistoryEvent.Acquired(at, process, name.text(), lease.fencingToken(name), until));
        }
        return new MultiHeld(lease, first, process, sink);
    }

    @Override
    public long token() {
        return lease.fencingToken(first);
    }

    @Override
    public boolean stillHolds() {
        long at = System.nanoTime();
        long remaining = lease.remainingValidity().toNanos();
        if (remaining <= 0) {
            return false;
        }
        for (LockName name : lease.lockNames()) {
            sink.add(new HistoryEvent.Extended(at, process, name.text(), lease.fencingToken(name), at + remaining));
        }
        return true;
    }

    @Override
    public void release() {
        String how = lease.isValid() ? "released" : "lost";
        for (LockName name : lease.lockNames()) {
            sink.add(new HistoryEvent.Ended(System.nanoTime(), process, name.text(), lease.fencingToken(name), how));
        }
        ReleaseOutcome outcome = lease.release();
        for (LockName name : lease.lockNames()) {
            sink.add(new HistoryEvent.Released(
                    System.nanoTime(), process, name.text(), lease.fencingToken(name), outcome.name()));
        }
    }
}
