package io.leasehold.fencing;

/** Thrown if a fencing token was presented to a resource that does not exist; nothing was registered or changed. */
public final class FencedResourceMissingException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    private final String resource;

    /** Creates the exception for this answer. */
    public FencedResourceMissingException(Admission.Missing missing) {
        super("there is no \"" + missing.resource() + "\" to present fencing token " + missing.token() + " to");
        this.resource = missing.resource();
    }

    /** The resource. */
    public String resource() {
        return resource;
    }
}
