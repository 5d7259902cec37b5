package io.leasehold;

/**
 * Thrown if a client states another number of permits than the store keeps for the name. A retry does not help: all
 * clients must state the same count, or an operator must change it at the store
 * ({@link io.leasehold.admin.LockAdmin#changePermits}).
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

    /** The count that the client states. */
    public int stated() {
        return stated;
    }

    /** The count that the store keeps. */
    public int kept() {
        return kept;
    }
}
