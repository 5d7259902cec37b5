package io.leasehold.testkit.virtual;

/**
 * Whether a process of the virtual world runs, stands still or has crashed, and its monotonic clock. Belongs to the thread
 * whose turn it is.
 */
final class ProcessState {

    private final String name;
    private final DriftingClock monotonic;
    private long frozenUntilNanos = Long.MIN_VALUE;
    private long asleepUntilNanos;
    private boolean crashed;

    ProcessState(String name, DriftingClock monotonic) {
        this.name = name;
        this.monotonic = monotonic;
    }

    String name() {
        return name;
    }

    DriftingClock monotonic() {
        return monotonic;
    }

    long frozenUntilNanos() {
        return frozenUntilNanos;
    }

    boolean isFrozen(long nowNanos) {
        return frozenUntilNanos > nowNanos;
    }

    void freezeUntil(long untilNanos) {
        frozenUntilNanos = Math.max(frozenUntilNanos, untilNanos);
    }

    /** Its clock loses the time for which its machine sleeps: once, where two sleeps overlap. */
    void sleep(long nowNanos, long untilNanos) {
        long moreNanos = untilNanos - Math.max(nowNanos, asleepUntilNanos);
        if (moreNanos > 0) {
            monotonic.step(nowNanos, -moreNanos);
            asleepUntilNanos = untilNanos;
        }
    }

    boolean hasCrashed() {
        return crashed;
    }

    void crash() {
        crashed = true;
    }

    /** When an event that is due may really run: not while frozen, and a timer not before its own clock says so. */
    long readyAtNanos(WorldEvent event) {
        long ready = Math.max(event.runAtNanos, frozenUntilNanos);
        if (event.kind == WorldEvent.Kind.TIMER && monotonic.read(ready) - event.localDueAtNanos < 0) {
            ready = monotonic.worldNanosAt(event.localDueAtNanos);
        }
        return ready;
    }
}
