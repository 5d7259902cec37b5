package io.leasehold.simulator;

import java.util.SplittableRandom;

/**
 * The usage pattern of the clients of a run; follows from the seed of its plan.
 *
 * @param several the percentage of attempts that request two or three locks at once
 * @param patient the percentage of attempts that wait without limit
 * @param quick the percentage of holds that are released at once, so that the process may hand them over to its own
 *     waiters
 * @param thinkMillis the maximum time between a hold and the next attempt
 */
record Habits(int several, int patient, int quick, int thinkMillis) {

    static Habits ofSeed(long seed) {
        SplittableRandom random = new SplittableRandom(seed ^ 0x5DEECE66DL);
        int several = new int[] {0, 10, 10, 40}[random.nextInt(4)];
        int patient = new int[] {0, 10, 30}[random.nextInt(3)];
        boolean hurried = random.nextInt(4) == 0;
        return new Habits(several, patient, hurried ? 85 : 10, hurried ? 400 : 4_000);
    }
}
