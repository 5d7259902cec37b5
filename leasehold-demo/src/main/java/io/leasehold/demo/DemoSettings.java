package io.leasehold.demo;

import java.time.Duration;

/**
 * The settings of a demonstration.
 *
 * @param workers the number of competing processes
 * @param withLock whether they take the lock
 * @param ttl the longest time for which a lease outlives its holder
 * @param pause between reading and writing the counter
 * @param incrementsPerTurn the number of increments before a holder releases the lock
 * @param turnsBeforeKill the number of turns before a holder is killed
 * @param turnsAfterKill the number of turns after that
 */
public record DemoSettings(
        int workers,
        boolean withLock,
        Duration ttl,
        Duration pause,
        int incrementsPerTurn,
        int turnsBeforeKill,
        int turnsAfterKill) {

    /** The lock for which they compete. */
    static final String LOCK = "demo:counter";

    /** At a pace that a viewer can follow. */
    public static DemoSettings paced(int workers, boolean withLock) {
        return new DemoSettings(workers, withLock, Duration.ofSeconds(3), Duration.ofMillis(250), 3, 5, 4);
    }

    /** As short as possible for the complete demonstration. */
    public static DemoSettings quick(int workers, boolean withLock) {
        return new DemoSettings(workers, withLock, Duration.ofSeconds(2), Duration.ofMillis(60), 2, 3, 2);
    }
}
