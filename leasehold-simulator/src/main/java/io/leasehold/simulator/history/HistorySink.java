package io.leasehold.simulator.history;

/** The destination of events: a {@link HistoryFile}, or a list of a test. */
@FunctionalInterface
public interface HistorySink {

    /** Records an event; when this returns, the end of the process cannot lose it. */
    void add(HistoryEvent event);
}
