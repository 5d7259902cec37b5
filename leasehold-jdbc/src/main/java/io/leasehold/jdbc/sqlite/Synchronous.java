package io.leasehold.jdbc.sqlite;

/** The time at which SQLite forces a commit to disk. */
public enum Synchronous {
    /**
     * At checkpoints. Survives the death of any process. If the machine loses power, the last commits may be lost, but
     * all holders have ended, too, and tokens continue above a horizon that is on the disk before they reach it.
     */
    NORMAL,
    /** At every commit. */
    FULL
}
