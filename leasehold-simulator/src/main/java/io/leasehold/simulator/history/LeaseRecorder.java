package io.leasehold.simulator.history;

import io.leasehold.Lease;
import io.leasehold.ReleaseOutcome;
import java.util.Objects;
import java.util.function.LongSupplier;

/**
 * Records a holder's beliefs about its leases, on the safe side: each belief begins a little late and ends a little
 * early, so that no checker sees a false overlap.
 */
public final class LeaseRecorder {

    private final HistorySink sink;
    private final String process;
    private final LongSupplier clock;

    /**
     * Creates a recorder for one process.
     *
     * @param process unique across restarts
     * @param clock the clock that all processes share: {@code System::nanoTime}, or a virtual world's
     */
    public LeaseRecorder(HistorySink sink, String process, LongSupplier clock) {
        this.sink = Objects.requireNonNull(sink, "sink");
        this.process = Objects.requireNonNull(process, "process");
        this.clock = Objects.requireNonNull(clock, "clock");
    }

    /** Call this when an acquiring method has returned this lease. */
    public void acquired(Lease lease) {
        long at = clock.getAsLong();
        long until = at + lease.remainingValidity().toNanos();
        sink.add(new HistoryEvent.Acquired(at, process, LeaseText.of(lease), lease.fencingToken(), until));
    }

    /**
     * Call this repeatedly while the lease is used, in particular before each use.
     *
     * @return whether the holder may believe in the lease
     */
    public boolean stillHolds(Lease lease) {
        long at = clock.getAsLong();
        long remaining = lease.remainingValidity().toNanos();
        if (remaining <= 0) {
            return false;
        }
        sink.add(new HistoryEvent.Extended(at, process, LeaseText.of(lease), lease.fencingToken(), at + remaining));
        return true;
    }

    /** Call this before the lease is released, or after its loss was reported. */
    public void ended(Lease lease, String how) {
        sink.add(new HistoryEvent.Ended(clock.getAsLong(), process, LeaseText.of(lease), lease.fencingToken(), how));
    }

    /** Call this when a release has returned. */
    public void released(Lease lease, ReleaseOutcome outcome) {
        sink.add(new HistoryEvent.Released(
                clock.getAsLong(), process, LeaseText.of(lease), lease.fencingToken(), outcome.name()));
    }
}
