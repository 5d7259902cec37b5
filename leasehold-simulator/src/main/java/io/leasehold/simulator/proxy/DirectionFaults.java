package io.leasehold.simulator.proxy;

import java.util.SplittableRandom;

/** The faults of one direction, and their effects on its bytes. Belongs to the loop's thread. */
final class DirectionFaults {
    private final SplittableRandom random;
    private long delayNanos;
    private long jitterNanos;
    private boolean stalled;
    private boolean dropping;
    private int bytesPerSecond;
    private long bytesUntilReset = -1;
    private long passed;
    private long delayed;
    private long held;
    private long dropped;
    private long dribbled;

    DirectionFaults(SplittableRandom random) {
        this.random = random;
    }

    void delay(long newDelayNanos, long newJitterNanos) {
        delayNanos = newDelayNanos;
        jitterNanos = newJitterNanos;
    }

    void stall(boolean isStalled) {
        stalled = isStalled;
    }

    void drop() {
        dropping = true;
    }

    void dribble(int newBytesPerSecond) {
        bytesPerSecond = newBytesPerSecond;
    }

    void resetAfter(long bytes) {
        bytesUntilReset = bytes;
    }

    Traffic traffic() {
        return new Traffic(passed, delayed, held, dropped, dribbled);
    }

    void heal() {
        delayNanos = 0;
        jitterNanos = 0;
        stalled = false;
        dropping = false;
        bytesPerSecond = 0;
        bytesUntilReset = -1;
    }

    boolean isStalled() {
        return stalled;
    }

    boolean isDropping() {
        return dropping;
    }

    int bytesPerSecond() {
        return bytesPerSecond;
    }

    /** The delay of a chunk that was read now; counts the chunk if it is delayed. */
    long delayNanosFor(int bytes) {
        if (delayNanos == 0 && jitterNanos == 0) {
            return 0;
        }
        delayed += bytes;
        return delayNanos + (jitterNanos == 0 ? 0 : random.nextLong(jitterNanos));
    }

    /** The number of these bytes that may be written before a requested reset. */
    int untilReset(int wanted) {
        return bytesUntilReset < 0 ? wanted : (int) Math.min(wanted, bytesUntilReset);
    }

    /** Counts bytes written to the receiver; returns true if the requested reset is due now. */
    boolean countPassed(int bytes) {
        passed += bytes;
        if (bytesPerSecond > 0) {
            dribbled += bytes;
        }
        if (bytesUntilReset < 0) {
            return false;
        }
        bytesUntilReset -= bytes;
        if (bytesUntilReset > 0) {
            return false;
        }
        bytesUntilReset = -1;
        return true;
    }

    void countDropped(long bytes) {
        dropped += bytes;
    }

    void countStalled(long bytes) {
        held += bytes;
    }
}
