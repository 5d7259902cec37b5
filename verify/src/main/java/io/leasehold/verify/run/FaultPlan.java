package io.leasehold.verify.run;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The plan of a run, as far as it can be reduced.
 *
 * @param <P> the plan
 * @param <F> its kinds of fault
 */
public interface FaultPlan<P, F extends Enum<F>> {

    /** One fault that happens at a set time. */
    record Harm<F extends Enum<F>>(long atMillis, F fault, int client, long millis) {
        @Override
        public String toString() {
            return String.format(Locale.ROOT, "%7.3f s %s client %d, %d ms", atMillis / 1e3, fault, client, millis);
        }
    }

    /** The seed of all random choices during the run. */
    long seed();

    /** The number of processes at the beginning; a killed one is replaced. */
    int clients();

    /** The maximum number of contending tasks in each of them. */
    int tasks();

    /** The number of locks. */
    int locks();

    /** How slow connections are and how often they break, from 0 to 10. */
    int network();

    /** The frequency of pauses of a client at a suspension point, in parts in 10,000. */
    int pauses();

    /** The largest error of a clock's rate. */
    int driftPartsPerMillion();

    /** The faults that happen at a set time. */
    List<Harm<F>> harms();

    /** Whether exclusion is guaranteed. */
    boolean promisesExclusion();

    /** This plan with other values. */
    P with(List<Harm<F>> newHarms, int newClients, int newTasks, int newNetwork, int newPauses);

    /** The plans with a better network, fewer pauses, tasks, clients or faults. */
    default List<P> smaller() {
        List<P> all = new ArrayList<>();
        if (network() > 0) {
            all.add(with(harms(), clients(), tasks(), 0, pauses()));
        }
        if (pauses() > 0) {
            all.add(with(harms(), clients(), tasks(), network(), 0));
        }
        if (tasks() > 1) {
            all.add(with(harms(), clients(), tasks() - 1, network(), pauses()));
        }
        if (clients() > 1) {
            all.add(with(harms(), clients() - 1, tasks(), network(), pauses()));
        }
        for (int chunk = harms().size(); chunk > 0; chunk /= 2) {
            for (int from = 0; from < harms().size(); from += chunk) {
                List<Harm<F>> fewer = new ArrayList<>(harms());
                fewer.subList(from, Math.min(fewer.size(), from + chunk)).clear();
                all.add(with(fewer, clients(), tasks(), network(), pauses()));
            }
        }
        return all;
    }
}
