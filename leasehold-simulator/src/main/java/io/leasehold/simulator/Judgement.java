package io.leasehold.simulator;

import io.leasehold.simulator.history.History;
import io.leasehold.simulator.history.LostUpdateChecker;
import io.leasehold.simulator.history.OverlapChecker;
import io.leasehold.simulator.history.TokenChecker;
import java.util.List;

/** Runs every checker over one history; each counts only as far as its guarantee holds under the faults of the plan. */
final class Judgement {

    private Judgement() {}

    static void of(SimulationPlan plan, History history, Counts counts, List<String> problems) {
        if (plan.promisesExclusion()) {
            OverlapChecker.check(history).forEach(v -> problems.add("overlap: " + v));
            counts.saw("runs with exclusion");
        } else {
            counts.saw(
                    "overlaps without a promise", OverlapChecker.check(history).size());
        }
        if (plan.promisesOrder()) {
            TokenChecker.check(history, ClientOptions.TTL).forEach(v -> problems.add("token: " + v));
        } else {
            counts.saw(
                    "tokens out of order without a promise",
                    TokenChecker.check(history).size());
        }
        for (LostUpdateChecker.Result result : LostUpdateChecker.check(history)) {
            boolean checking = result.resource().startsWith("checking/");
            String kind = checking ? "checking" : "naive";
            counts.saw("updates " + kind, result.acknowledged());
            counts.saw("lost updates " + kind, result.lost());
            counts.saw("refused " + kind, result.refused());
            if (checking && result.lost() > 0) {
                problems.add("lost update: " + result);
            }
        }
        counts.saw("acquisitions", history.acquisitions());
    }
}
