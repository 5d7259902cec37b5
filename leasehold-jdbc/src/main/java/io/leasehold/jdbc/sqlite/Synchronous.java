package io.leasehold.jdbc.sqlite;

/** When SQLite makes sure that a commit is on the disk. */
public enum Synchronous {
    /**
     * At checkpoints. Survives the death of any process; when the machine loses power the last commits may be lost,
     * but so are all holders.
     */
    NORMAL,
    /** At every commit: also the fences of the last moments survive a loss of power. */
    FULL
}
