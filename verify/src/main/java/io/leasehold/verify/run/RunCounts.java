package io.leasehold.verify.run;

import io.leasehold.LockListener;
import java.util.Map;
import java.util.TreeMap;

/**
 * The numbers of faults and events of a run. For one thread at a time.
 *
 * @param <F> the kinds of fault
 */
public final class RunCounts<F extends Enum<F>> implements LockListener {

    private final Map<String, Long> faults = new TreeMap<>();
    private final Map<String, Long> events = new TreeMap<>();

    RunCounts() {}

    /** Counts a fault. */
    public void saw(F fault) {
        faults.merge(fault.name(), 1L, Long::sum);
    }

    /** Counts an event that happened so many times. */
    public void saw(String event, long times) {
        if (times > 0) {
            events.merge(event, times, Long::sum);
        }
    }

    Map<String, Long> faults() {
        return faults;
    }

    Map<String, Long> events() {
        return events;
    }

    @Override
    public void attemptEnded(AttemptEnded event) {
        saw("attempt " + event.outcome(), 1);
    }

    @Override
    public void renewed(Renewed event) {
        saw("renewal " + event.outcome(), 1);
    }

    @Override
    public void lost(Lost event) {
        saw("lost " + event.cause(), 1);
    }

    @Override
    public void released(Released event) {
        saw("release " + event.outcome(), 1);
    }
}
