package io.leasehold.simulator.history;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Counts the acknowledged updates that a protected counter lost.
 *
 * <p>Every update reads the counter and writes the next number. If a write of {@code v} is accepted when the counter is
 * at {@code c}, it has overwritten {@code c − (v − 1)} updates, which are lost.
 */
public final class LostUpdateChecker {

    private LostUpdateChecker() {}

    /**
     * The fate of the updates of one counter.
     *
     * @param resource the counter
     * @param acknowledged updates that were accepted
     * @param lost how many of them a later one overwrote
     * @param refused reads and writes whose token was refused
     */
    public record Result(String resource, long acknowledged, long lost, long refused) {}

    /** The counters, which begin at zero, in the order of their names. */
    public static List<Result> check(History history) {
        Map<String, Tally> tallies = new TreeMap<>();
        for (HistoryEvent event : history.events()) {
            if (event instanceof HistoryEvent.Accessed access) {
                tallies.computeIfAbsent(access.resource(), r -> new Tally()).add(access);
            }
        }
        List<Result> results = new ArrayList<>();
        tallies.forEach(
                (resource, tally) -> results.add(new Result(resource, tally.acknowledged, tally.lost, tally.refused)));
        return results;
    }

    private static final class Tally {
        private long counter;
        private long acknowledged;
        private long lost;
        private long refused;

        void add(HistoryEvent.Accessed access) {
            if (!access.accepted()) {
                refused++;
            } else if (access.access() == HistoryEvent.Access.WRITE) {
                acknowledged++;
                lost += Math.max(0, counter - (access.value() - 1));
                counter = access.value();
            }
        }
    }
}
