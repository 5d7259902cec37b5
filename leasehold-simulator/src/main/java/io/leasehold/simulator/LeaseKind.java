package io.leasehold.simulator;

/** The kinds of lease that a simulation may run. */
public enum LeaseKind {
    /** Exclusive locks, alone and several at once. */
    LOCKS,
    /** Readers and writers of one lock, and writers that become readers. */
    READERS,
    /** Permits: one, two or five of a name. */
    PERMITS,
    /** Leases that are exported, and resumed by the same or another process. */
    TICKETS;

    @Override
    public String toString() {
        return name().toLowerCase(java.util.Locale.ROOT);
    }
}
