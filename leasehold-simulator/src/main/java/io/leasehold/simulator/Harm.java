package io.leasehold.simulator;

import java.util.Objects;

/**
 * One fault of a plan.
 *
 * @param atMillis the time since the beginning
 * @param fault its kind
 * @param client the client, counted round the living ones
 * @param node the node
 * @param millis the duration, or the step of a clock
 * @param writes the number of lost writes
 */
public record Harm(long atMillis, Fault fault, int client, int node, long millis, int writes) {
    /** Refuses nulls. */
    public Harm {
        Objects.requireNonNull(fault, "fault");
    }

    @Override
    public String toString() {
        return String.format(
                java.util.Locale.ROOT,
                "%7.3f s %s client %d node %d, %d ms, %d writes",
                atMillis / 1e3,
                fault,
                client,
                node,
                millis,
                writes);
    }
}
