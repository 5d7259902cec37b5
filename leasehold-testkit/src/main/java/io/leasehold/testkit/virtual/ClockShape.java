package io.leasehold.testkit.virtual;

import java.time.Duration;

/** A deviation of a clock of the virtual world. Deviations of one clock add up. */
public sealed interface ClockShape {

    /**
     * The clock runs at another rate from now on.
     *
     * @param rate 1.0 is correct, 1.05 is 5 % fast
     */
    record Linear(double rate) implements ClockShape {
        /** Refuses rates at which a clock would stand or run back. */
        public Linear {
            if (!(rate > 0.0 && rate <= 1000.0)) {
                throw new IllegalArgumentException("clock rate is " + rate + "; it must be above 0 and at most 1000");
            }
        }
    }

    /**
     * The clock is stepped once, now.
     *
     * @param by forwards if positive
     */
    record Step(Duration by) implements ClockShape {}

    /**
     * Lets the clock gain for half of each period, from now on, and lose the same in the other half.
     *
     * @param amplitude the amount by which it is ahead in the middle of a period
     * @param period the length of a period
     */
    record Periodic(Duration amplitude, Duration period) implements ClockShape {
        /** Refuses a wave so steep that the clock would run back. */
        public Periodic {
            if (amplitude.isNegative() || amplitude.multipliedBy(4).compareTo(period) > 0) {
                throw new IllegalArgumentException("a periodic drift of " + amplitude + " in a period of " + period
                        + ": the amplitude must be between zero and a quarter of the period");
            }
        }

        /** The largest deviation of its rate from 1. */
        public double steepness() {
            return 2.0 * amplitude.toNanos() / period.toNanos();
        }
    }
}
