package io.leasehold.fencing;

/** The resource refused an older holder, because a newer one had used it: nothing was changed. */
public final class StaleTokenException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    private final transient Admission.Rejected rejection;

    /** The rejection. */
    public StaleTokenException(Admission.Rejected rejection) {
        super("\"" + rejection.resource() + "\" refuses fencing token " + rejection.token() + ": token "
                + rejection.newest() + " has been here; the lease had ended, so stop, and take the lock again");
        this.rejection = rejection;
    }

    /** The resource's answer. */
    public Admission.Rejected rejection() {
        return rejection;
    }
}
