package io.leasehold.verify.sql;

import io.leasehold.LockListener;
import java.util.EnumMap;
import java.util.Map;
import java.util.TreeMap;

/** What happened, and how often. One thread at a time. */
final class SqlCounts implements LockListener {

    private final Map<SqlFault, Long> faults = new EnumMap<>(SqlFault.class);
    private final Map<String, Long> events = new TreeMap<>();

    void saw(SqlFault fault) {
        faults.merge(fault, 1L, Long::sum);
    }

    void saw(String event, long times) {
        if (times > 0) {
            events.merge(event, times, Long::sum);
        }
    }

    void add(SqlCounts other) {
        other.faults.forEach((fault, times) -> faults.merge(fault, times, Long::sum));
        other.events.forEach((event, times) -> events.merge(event, times, Long::sum));
    }

    Map<SqlFault, Long> faults() {
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
