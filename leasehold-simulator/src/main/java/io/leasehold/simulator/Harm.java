package io.leasehold.simulator;

import java.util.Objects;

/**
 * One fault of a plan.
 *
 * @param atMillis when, from the beginning
 * @param fault its kind
 * @param client to which client, counted round those that live then
 * @param node to which node
 * @param millis how long it lasts, or by how much a clock is set
 * @param writes how many writes are lost
 */
public record Harm(long atMillis, Fault fault, int client, int node, long millis, int writes) {
    /** Refuses null. */
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
