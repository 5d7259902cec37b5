package io.leasehold.jdbc;

/**
 * Thrown if a row has changed since it was read, or is gone; nothing was changed. Roll back, read again, and decide
 * again.
 */
public final class StaleVersionException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    private final long version;

    /** Creates the exception for a row and its expected version. */
    public StaleVersionException(String row, long version) {
        super(row + " is not at version " + version + " any more: roll back, read the row again, and decide again");
        this.version = version;
    }

    /** The expected version. */
    public long version() {
        return version;
    }
}
