package io.leasehold.cli.output;

/** Standard output cannot be written: what was asked for was not told. */
public final class OutputGoneException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final boolean readerLeft;

    OutputGoneException(String reason, boolean readerLeft) {
        super(reason);
        this.readerLeft = readerLeft;
    }

    /** Whether it was a pipe whose reader has left, as {@code head} does: no reason to complain. */
    public boolean readerLeft() {
        return readerLeft;
    }
}
