package io.leasehold.simulator;

import java.util.SplittableRandom;

/**
 * How the clients of a run use their locks; follows from the seed of its plan.
 *
 * @param several of a hundred attempts, how many want two or three locks at once
 * @param patient of a hundred attempts, how many wait without limit
 * @param quick of a hundred holds, how many are released at once, so that the process may pass them on to its own
 *     waiters
 * @param thinkMillis between a hold and the next attempt, at most
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
