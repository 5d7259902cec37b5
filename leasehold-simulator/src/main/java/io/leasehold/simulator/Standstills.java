package io.leasehold.simulator;

import io.leasehold.testkit.virtual.VirtualRuntime;

/** Counts the pauses of a process: timeliness is required only of a process that has not paused. */
final class Standstills {

    private final VirtualRuntime process;
    private int count;

    Standstills(VirtualRuntime process) {
        this.process = process;
    }

    int count() {
        return count;
    }

    /** Begins another pause. */
    void begin() {
        count++;
    }

    /** A mark from which pauses of this process are counted. */
    int mark() {
        return process.isFrozen() ? -1 : count;
    }

    /** Whether the process has not paused since the mark; false if it was paused at the mark. */
    boolean hasRunSince(int mark) {
        return count == mark;
    }
}
