package io.leasehold.redis.topology;

/**
 * Decides which slot table replaces the one in use. A table of an earlier epoch counts only if for a while no answering
 * node has known the later epoch: the Cluster was created anew. Pure except for its memory; guarded by its owner.
 */
final class Succession {

    /**
     * How long the epoch of the table in use must be unknown to every answering node before a table of an earlier epoch
     * replaces it.
     */
    private static final long FORGOTTEN_NANOS = 1_000_000_000L;

    private boolean forgotten;
    private long sinceNanos;

    /** The verdict on the table in use. */
    enum Verdict {
        STAYS,
        IS_REPLACED,
        /** Replaced by a table of an earlier epoch. */
        IS_FORGOTTEN
    }

    Verdict of(SlotTable ours, SlotTable found, long nowNanos) {
        if (found.isAsNewAs(ours)) {
            forgotten = false;
            return found.isAny() || !ours.isAny() ? Verdict.IS_REPLACED : Verdict.STAYS;
        }
        if (!forgotten) {
            forgotten = true;
            sinceNanos = nowNanos;
            return Verdict.STAYS;
        }
        if (!found.isAny() || nowNanos - sinceNanos < FORGOTTEN_NANOS) {
            return Verdict.STAYS;
        }
        forgotten = false;
        return Verdict.IS_FORGOTTEN;
    }

    /** Whether no node of the last reading knew the epoch of the table in use, so that it must be read again. */
    boolean isInDoubt() {
        return forgotten;
    }
}
