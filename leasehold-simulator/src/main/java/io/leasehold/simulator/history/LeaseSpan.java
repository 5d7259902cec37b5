package io.leasehold.simulator.history;

/** The span during which a holder believed in a lease: the end is the first moment at which it did not. */
final class LeaseSpan {

    private final String process;
    private final String lock;
    private final long token;
    private final long fromAtNanos;
    private final long firstUntilAtNanos;
    private long untilAtNanos;

    LeaseSpan(String process, String lock, long token, long fromAtNanos, long untilAtNanos) {
        this.process = process;
        this.lock = lock;
        this.token = token;
        this.fromAtNanos = fromAtNanos;
        this.firstUntilAtNanos = untilAtNanos;
        this.untilAtNanos = untilAtNanos;
    }

    void extend(long toAtNanos) {
        untilAtNanos = Math.max(untilAtNanos, toAtNanos);
    }

    void end(long atNanos) {
        untilAtNanos = Math.min(untilAtNanos, atNanos);
    }

    /** Whether the holder believed in it at any moment. */
    boolean wasBelievedIn() {
        return untilAtNanos > fromAtNanos;
    }

    /** The end that the holder knew first. */
    long firstUntilAtNanos() {
        return firstUntilAtNanos;
    }

    String lock() {
        return lock;
    }

    long token() {
        return token;
    }

    long fromAtNanos() {
        return fromAtNanos;
    }

    long untilAtNanos() {
        return untilAtNanos;
    }

    @Override
    public String toString() {
        return process + " with token " + token + " from " + fromAtNanos + " until " + untilAtNanos;
    }
}
