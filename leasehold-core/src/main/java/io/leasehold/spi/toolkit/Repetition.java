package io.leasehold.spi.toolkit;

import java.util.OptionalLong;

/**
 * Decides when a request is sent again until it is answered: one copy is under way at a time, and the pauses between them double
 * from the first to the longest. Pure; guarded by its caller.
 *
 * <p>The caller sends a copy when {@link #start} says so. It reports an answer with {@link #end}, a failure with {@link
 * #failed}, and calls {@code start} once more when the pause is over, or earlier if it hears that the server can be reached
 * again. A random spread is the caller's to add to the pause.
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

    /** Nothing was sent yet. */
    public Repetition(long firstPauseNanos, long maxPauseNanos) {
        this.firstPauseNanos = firstPauseNanos;
        this.maxPauseNanos = maxPauseNanos;
    }

    /** Whether a copy is to be sent now: none is under way, and no more than one caller is told so. */
    public boolean start() {
        boolean starts = state == State.WAITING;
        state = starts ? State.UNDER_WAY : state;
        return starts;
    }

    /**
     * A copy has failed.
     *
     * @param leftNanos for how long it is still worth repeating
     * @return the pause before the next copy, at most that long; empty if no other follows
     */
    public OptionalLong failed(long leftNanos) {
        if (state == State.ENDED || leftNanos <= 0) {
            state = State.ENDED;
            return OptionalLong.empty();
        }
        state = State.WAITING;
        return OptionalLong.of(Math.min(leftNanos, pauseNanos(firstPauseNanos, maxPauseNanos, failures++)));
    }

    /** No copy is sent any more: the request was answered, or is given up. */
    public void end() {
        state = State.ENDED;
    }

    /** Whether no copy is sent any more. */
    public boolean isEnded() {
        return state == State.ENDED;
    }

    /** The pause after so many earlier failures: the first one doubled for each, at most the longest. */
    public static long pauseNanos(long firstPauseNanos, long maxPauseNanos, int failuresBefore) {
        long pauseNanos = Math.min(firstPauseNanos, maxPauseNanos);
        for (int i = 0; i < failuresBefore && pauseNanos < maxPauseNanos; i++) {
            pauseNanos = pauseNanos > maxPauseNanos / 2 ? maxPauseNanos : 2 * pauseNanos;
        }
        return pauseNanos;
    }
}
