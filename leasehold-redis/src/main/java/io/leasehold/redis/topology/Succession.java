package io.leasehold.redis.topology;

/**
 * Which of the tables that are read replaces the one in use. One of an earlier epoch counts only when no node that answers has known
 * the later one for a while: the Cluster was made anew. Pure but for what it remembers; guarded by its owner.
 */
final class Succession {

    /** How long no node that answers may know our table's epoch before a table of an earlier epoch replaces it. */
    private static final long FORGOTTEN_NANOS = 1_000_000_000L;

    private boolean forgotten;
    private long sinceNanos;

    /** The verdict on the table in use. */
    enum Verdict {
        STAYS,
        IS_REPLACED,
        /** By one of an earlier epoch. */
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

    /** Whether no node that answered last knew the epoch of the table in use: it has to be read again. */
    boolean isInDoubt() {
        return forgotten;
    }
}
