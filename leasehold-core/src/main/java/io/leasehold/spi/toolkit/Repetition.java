package io.leasehold.spi.toolkit;

import java.util.OptionalLong;

/**
 * Schedules the copies of a request until it is answered: one copy is in flight at a time, and the pauses between them
 * double from the first to the longest. Pure; guarded by its caller.
 *
 * <p>The caller sends a copy if {@link #start} returns true. It reports an answer with {@link #end} and a failure with
 * {@link #failed}, and calls {@code start} again when the pause is over, or earlier if the server can be reached again.
 * The caller may add jitter to the pause.
 */
public final class Repetition {

    private enum State {
        WAITING,
        UNDER_WAY,
        ENDED
    }

    private final long firstPauseNanos;
    private final long maxPauseNanos;
    private State state = State.WAITING;
    private int failures;

    /** Creates a repetition before its first copy. */
    public Repetition(long firstPauseNanos, long maxPauseNanos) {
        this.firstPauseNanos = firstPauseNanos;
        this.maxPauseNanos = maxPauseNanos;
    }

    /** Whether to send a copy now: no other is in flight, and at most one caller receives true. */
    public boolean start() {
        boolean starts = state == State.WAITING;
        state = starts ? State.UNDER_WAY : state;
        return starts;
    }

    /**
     * Records that a copy has failed.
     *
     * @param leftNanos the remaining time for repetitions
     * @return the pause before the next copy, at most the remaining time; empty if no other follows
     */
    public OptionalLong failed(long leftNanos) {
        if (state == State.ENDED || leftNanos <= 0) {
            state = State.ENDED;
            return OptionalLong.empty();
        }
        state = State.WAITING;
        return OptionalLong.of(Math.min(leftNanos, pauseNanos(firstPauseNanos, maxPauseNanos, failures++)));
    }

    /** Ends the repetition: the request was answered or abandoned. */
    public void end() {
        state = State.ENDED;
    }

    /** Whether the repetition has ended. */
    public boolean isEnded() {
        return state == State.ENDED;
    }

    /** The pause after this number of earlier failures: the first pause doubled for each, at most the longest. */
    public static long pauseNanos(long firstPauseNanos, long maxPauseNanos, int failuresBefore) {
        long pauseNanos = Math.min(firstPauseNanos, maxPauseNanos);
        for (int i = 0; i < failuresBefore && pauseNanos < maxPauseNanos; i++) {
            pauseNanos = pauseNanos > maxPauseNanos / 2 ? maxPauseNanos : 2 * pauseNanos;
        }
        return pauseNanos;
    }
}
