package io.leasehold.cli.output;

/** Standard output cannot be written, so the result was not delivered. */
public final class OutputGoneException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final boolean readerLeft;

    OutputGoneException(String reason, boolean readerLeft) {
        super(reason);
        this.readerLeft = readerLeft;
    }

    /** Whether it was a pipe whose reader has left, as {@code head} does, which is not a failure. */
    public boolean readerLeft() {
        return readerLeft;
    }
}
