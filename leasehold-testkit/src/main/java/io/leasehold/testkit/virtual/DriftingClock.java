package io.leasehold.testkit.virtual;

/**
 * A clock that reads {@code anchor + (world time − world anchor) × rate}, and can be stepped.
 */
final class DriftingClock {

    private long worldAnchorNanos;
    private long localAnchorNanos;
    private double rate = 1.0;

    DriftingClock(long worldNanos, long localNanos) {
        this.worldAnchorNanos = worldNanos;
        this.localAnchorNanos = localNanos;
    }

    /** What this clock shows at a moment of the world. */
    long read(long worldNanos) {
        long passed = worldNanos - worldAnchorNanos;
        return localAnchorNanos + (rate == 1.0 ? passed : (long) (passed * rate));
    }

    /** The first moment of the world at which this clock shows {@code localNanos} or more. */
    long worldNanosAt(long localNanos) {
        long wanted = localNanos - localAnchorNanos;
        if (rate == 1.0) {
            return worldAnchorNanos + wanted;
        }
        long guess = worldAnchorNanos + (long) Math.ceil(wanted / rate);
        while (read(guess) - localNanos < 0) {
            guess++;
        }
        return guess;
    }

    void step(long worldNanos, long byNanos) {
        localAnchorNanos = read(worldNanos) + byNanos;
        worldAnchorNanos = worldNanos;
    }

    void rate(long worldNanos, double newRate) {
        if (!(newRate > 0.0) || newRate > 1000.0) {
            throw new IllegalArgumentException("clock rate is " + newRate + "; it must be above 0 and at most 1000");
        }
        step(worldNanos, 0);
        rate = newRate;
    }
}
