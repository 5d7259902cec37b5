package io.leasehold;

/**
 * Thrown if a client states another number of permits than the store keeps for the name or, at a store that keeps no
 * count, than a holder states. A retry does not help: all clients must state the same count, or an operator must change
 * it at the store ({@link io.leasehold.admin.LockAdmin#changePermits}).
 */
public final class PermitCountException extends LockStoreException {

    private static final long serialVersionUID = 1L;

    private final int stated;
    private final int kept;

    /**
     * A disagreement.
     *
     * @param name the permits
     * @param store the store, for the message
     * @param stated the count that the client states
     * @param kept the count that the store keeps
     */
    public PermitCountException(LockName name, String store, int stated, int kept) {
        super(
                "permits \"" + name + "\" at " + store + ": this client states a count of " + stated
                        + ", and the store keeps " + kept
                        + "; state the same count in all clients, or change the one at"
                        + " the store (leasehold permits --count)",
                null);
        this.stated = stated;
        this.kept = kept;
    }

    private PermitCountException(String message, int stated, int kept) {
        super(message, null);
        this.stated = stated;
        this.kept = kept;
    }

    /**
     * A disagreement with a holder, at a store that keeps no count.
     *
     * @param stated the count that the client states
     * @param held the count that the holder states
     */
    public static PermitCountException ofHolder(LockName name, String store, int stated, int held) {
        return new PermitCountException(
                "permits \"" + name + "\" at " + store + ": this client states a count of " + stated
                        + ", and a holder states " + held + "; state the same count in all clients",
                stated,
                held);
    }

    /** The count that the client states. */
    public int stated() {
        return stated;
    }

    /** The count that the store keeps, or a holder states. */
    public int kept() {
        return kept;
    }
}
