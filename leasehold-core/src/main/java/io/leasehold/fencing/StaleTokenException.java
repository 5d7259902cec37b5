package io.leasehold.fencing;

/** Thrown if a resource refused an older holder because a newer one had used the resource; nothing was changed. */
public final class StaleTokenException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    private final transient Admission.Rejected rejection;

    /** Creates the exception for this rejection. */
    public StaleTokenException(Admission.Rejected rejection) {
        super("\"" + rejection.resource() + "\" refuses fencing token " + rejection.token() + ": token "
                + rejection.newest() + " has already been used; the lease has ended: stop, and acquire the lock again");
        this.rejection = rejection;
    }

    /** The resource's answer. */
    public Admission.Rejected rejection() {
        return rejection;
    }
}
