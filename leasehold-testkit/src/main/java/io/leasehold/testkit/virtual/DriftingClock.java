package io.leasehold.testkit.virtual;

/**
 * A clock that reads {@code anchor + (world time − world anchor) × rate + wave}, and can be stepped. The wave is a
 * triangle: zero at its beginning, its amplitude half a period later.
 */
final class DriftingClock {

    private long worldAnchorNanos;
    private long localAnchorNanos;
    private double rate = 1.0;
    private long waveFromNanos;
    private long waveAmplitudeNanos;
    private long wavePeriodNanos = 1;

    DriftingClock(long worldNanos, long localNanos) {
        this.worldAnchorNanos = worldNanos;
        this.localAnchorNanos = localNanos;
    }

    /** The reading of this clock at a moment of the world. */
    long read(long worldNanos) {
        long passed = worldNanos - worldAnchorNanos;
        long straight = localAnchorNanos + (rate == 1.0 ? passed : (long) (passed * rate));
        return waveAmplitudeNanos == 0 ? straight : straight + wave(worldNanos);
    }

    private long wave(long worldNanos) {
        long within = Math.floorMod(worldNanos - waveFromNanos, wavePeriodNanos);
        long fromPeak = Math.abs(within - wavePeriodNanos / 2);
        return (long) (waveAmplitudeNanos * (1.0 - 2.0 * fromPeak / wavePeriodNanos));
    }

    /** The first moment of the world at which this clock shows {@code localNanos} or more. */
    long worldNanosAt(long localNanos) {
        if (rate == 1.0 && waveAmplitudeNanos == 0) {
            return worldAnchorNanos + (localNanos - localAnchorNanos);
        }
        double fastest = rate + 2.0 * waveAmplitudeNanos / wavePeriodNanos;
        long wanted = localNanos - localAnchorNanos - waveAmplitudeNanos;
        long guess = worldAnchorNanos + (long) Math.floor(wanted / (wanted > 0 ? fastest : rate));
        for (long left; (left = localNanos - read(guess)) > 0; ) {
            // Never beyond it, since no clock runs faster than its fastest.
            guess += Math.max(1, (long) (left / fastest));
        }
        return guess;
    }

    void step(long worldNanos, long byNanos) {
        long straight = read(worldNanos) - (waveAmplitudeNanos == 0 ? 0 : wave(worldNanos));
        localAnchorNanos = straight + byNanos;
        worldAnchorNanos = worldNanos;
    }

    void rate(long worldNanos, double newRate) {
        step(worldNanos, 0);
        rate = newRate;
    }

    void shape(long worldNanos, ClockShape shape) {
        if (shape instanceof ClockShape.Linear linear) {
            rate(worldNanos, linear.rate());
        } else if (shape instanceof ClockShape.Step step) {
            step(worldNanos, step.by().toNanos());
        } else if (shape instanceof ClockShape.Periodic periodic) {
            step(worldNanos, waveAmplitudeNanos == 0 ? 0 : wave(worldNanos));
            waveFromNanos = worldNanos;
            waveAmplitudeNanos = periodic.amplitude().toNanos();
            wavePeriodNanos = Math.max(1, periodic.period().toNanos());
        }
    }
}
