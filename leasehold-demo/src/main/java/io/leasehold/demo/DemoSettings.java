package io.leasehold.demo;

import java.time.Duration;

/**
 * How a demonstration is played.
 *
 * @param workers how many processes fight
 * @param withLock whether they take the lock
 * @param ttl how long a lease outlives its holder at most
 * @param pause between reading and writing the counter
 * @param incrementsPerTurn how often a holder increments before it gives the lock back
 * @param turnsBeforeKill how many turns are watched before a holder is killed
 * @param turnsAfterKill and how many after that
 */
public record DemoSettings(
        int workers,
        boolean withLock,
        Duration ttl,
        Duration pause,
        int incrementsPerTurn,
        int turnsBeforeKill,
        int turnsAfterKill) {

    /** The lock they fight for. */
    static final String LOCK = "demo:counter";

    /** At a pace that people can follow. */
    public static DemoSettings paced(int workers, boolean withLock) {
        return new DemoSettings(workers, withLock, Duration.ofSeconds(3), Duration.ofMillis(250), 3, 5, 4);
    }

    /** As short as it can be and still show it all. */
    public static DemoSettings quick(int workers, boolean withLock) {
        return new DemoSettings(workers, withLock, Duration.ofSeconds(2), Duration.ofMillis(60), 2, 3, 2);
    }
}
