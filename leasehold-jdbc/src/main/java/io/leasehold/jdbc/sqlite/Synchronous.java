package io.leasehold.jdbc.sqlite;

/** The time at which SQLite forces a commit to disk. */
public enum Synchronous {
    /**
     * At checkpoints. Survives the death of any process; when the machine loses power the last commits may be lost,
     * but so are all holders, and tokens go on above a horizon that is on the disk before they reach it.
     */
    NORMAL,
    /** At every commit. */
    FULL
}
