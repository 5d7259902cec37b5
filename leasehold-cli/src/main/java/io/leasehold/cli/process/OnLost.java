package io.leasehold.cli.process;

/** The action on a command whose lease is running out. */
public enum OnLost {
    /** TERM when the grace begins, KILL before the lease ends. */
    TERM,
    /** KILL when the grace begins. */
    KILL,
    /** No action: the command continues without the lock, and the loss is reported. */
    IGNORE
}
