package io.leasehold.simulator;

import io.leasehold.simulator.history.HistoryEvent;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.util.ArrayList;
import java.util.List;

/** The record of one run so far: its history, its counts and its problems. */
final class RunLog {

    final Counts counts = new Counts();
    final List<HistoryEvent> history = new ArrayList<>(512);
    final List<String> problems = new ArrayList<>();
    private final VirtualWorld world;

    RunLog(VirtualWorld world) {
        this.world = world;
    }

    void problem(String what) {
        problems.add(what);
        world.note("PROBLEM " + what);
    }

    void saw(Fault fault) {
        counts.saw(fault);
        world.note(fault.name());
    }
}
