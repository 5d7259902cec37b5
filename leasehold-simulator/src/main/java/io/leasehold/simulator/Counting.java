package io.leasehold.simulator;

import io.leasehold.LockListener;

/** Counts the engine's events, so that a run can require that every kind has happened. */
class Counting implements LockListener {

    private final Counts counts;

    Counting(Counts counts) {
        this.counts = counts;
    }

    @Override
    public void attemptEnded(AttemptEnded event) {
        counts.saw("attempt " + event.outcome());
    }

    @Override
    public void renewed(Renewed event) {
        counts.saw("renewal " + event.outcome());
    }

    @Override
    public void atRisk(AtRisk event) {
        counts.saw("at risk");
    }

    @Override
    public void lost(Lost event) {
        counts.saw("lost " + event.cause());
    }

    @Override
    public void released(Released event) {
        counts.saw("release " + event.outcome());
    }
}
