package io.leasehold.jdbc;

/** Thrown if a required row could not be locked. */
public final class RowLockException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    private final RowLock outcome;

    /** Creates the exception for any result except {@link RowLock#LOCKED}. */
    public RowLockException(RowLock outcome) {
        super(
                switch (outcome) {
                    case LOCKED -> throw new IllegalArgumentException("the row was locked");
                    case BUSY -> "the row is locked by another transaction";
                    case MISSING -> "there is no such row to lock";
                    case ABORTED ->
                        "the database aborted this transaction (deadlock, serialization or a costly wait): roll back and"
                                + " repeat it";
                });
        this.outcome = outcome;
    }

    /** The result of the request. */
    public RowLock outcome() {
        return outcome;
    }
}
