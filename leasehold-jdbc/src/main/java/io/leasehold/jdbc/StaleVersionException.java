package io.leasehold.jdbc;

/** A row has changed since it was read, or is gone: nothing was changed. Roll back, read again, and decide again. */
public final class StaleVersionException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    private final long version;

    /** The row, and the version that was expected of it. */
    public StaleVersionException(String row, long version) {
        super(row + " is not at version " + version + " any more: roll back, read again, and decide again");
        this.version = version;
    }

    /** The version that was expected. */
    public long version() {
        return version;
    }
}
