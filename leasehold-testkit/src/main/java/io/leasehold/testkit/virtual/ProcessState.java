package io.leasehold.testkit.virtual;

/**
 * Whether a process of the virtual world runs, stands still or has crashed, and its monotonic clock. Belongs to the thread
 * whose turn it is.
 */
final class ProcessState {

    private final String name;
    private final DriftingClock monotonic;
    private long frozenUntilNanos = Long.MIN_VALUE;
    private long asleepUntilNanos = Long.MIN_VALUE;
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

    /** The reading of its monotonic clock, which stands still while its machine sleeps, and never goes back. */
    long monotonicNanos(long nowNanos) {
        return monotonic.read(Math.max(nowNanos, asleepUntilNanos));
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

    /** Its clock shows at the end of the sleep what it shows now: once, where two sleeps overlap. */
    void sleep(long nowNanos, long untilNanos) {
        if (untilNanos > asleepUntilNanos) {
            monotonic.step(nowNanos, monotonicNanos(nowNanos) - monotonic.read(untilNanos));
            asleepUntilNanos = untilNanos;
        }
    }

    long asleepForNanos(long nowNanos) {
        return Math.max(nowNanos, asleepUntilNanos) - nowNanos;
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
