package io.leasehold.testkit.virtual;

import org.jspecify.annotations.Nullable;

/** A thread of a process of the virtual world. Its fields belong to the thread whose turn it is. */
final class Strand {

    final ProcessState process;
    final Runnable task;
    /** Which thread it runs on, once it does. */
    @Nullable
    Thread carrier;

    /** Whether it waits, and lets the world continue meanwhile. */
    boolean waits;

    /** Whether the event that it waits for has happened. */
    boolean woken;

    Strand(ProcessState process, Runnable task) {
        this.process = process;
        this.task = task;
    }
}
