package io.leasehold.simulator;

import io.leasehold.testkit.virtual.VirtualRuntime;

/** How often a process has stood still: what has to happen in time is asked only of one that has not. */
final class Standstills {

    private final VirtualRuntime process;
    private int count;

    Standstills(VirtualRuntime process) {
        this.process = process;
    }

    int count() {
        return count;
    }

    /** One more begins. */
    void begin() {
        count++;
    }

    /** A moment from which on it may be asked whether this process has stood still. */
    int mark() {
        return process.isFrozen() ? -1 : count;
    }

    /** Whether it has not stood still since; not if it already did. */
    boolean hasRunSince(int mark) {
        return count == mark;
    }
}
