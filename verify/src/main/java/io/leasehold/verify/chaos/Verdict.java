package io.leasehold.verify.chaos;

import io.leasehold.testkit.history.History;
import io.leasehold.testkit.history.LostUpdateChecker;
import io.leasehold.testkit.history.OverlapChecker;
import io.leasehold.testkit.history.TokenChecker;
import io.leasehold.testkit.history.Violation;
import java.util.ArrayList;
import java.util.List;

/**
 * What the histories of a run prove.
 *
 * @param line the figures
 * @param violations what must not have happened
 * @param exitCode see {@link ChaosCommand}
 */
record Verdict(String line, List<Violation> violations, int exitCode) {

    static Verdict of(ChaosPlan plan, String store, FaultCounts faults, History history) {
        List<Violation> overlaps = OverlapChecker.check(history);
        List<Violation> regressions = TokenChecker.check(history);
        List<LostUpdateChecker.Result> updates = LostUpdateChecker.check(history);
        List<Violation> violations = new ArrayList<>(overlaps);
        violations.addAll(regressions);
        for (LostUpdateChecker.Result result : updates) {
            if (result.resource().startsWith("checking/") && result.lost() > 0) {
                violations.add(new Violation(result.resource(), result.lost() + " acknowledged updates were lost"));
            }
        }
        long acquisitions = history.acquisitions();
        String line = "chaos " + store + (plan.control() ? " CONTROL (naive SET NX)" : "") + ": seed " + plan.seed()
                + ", "
                + plan.duration().toSeconds() + " s, " + plan.clients() + " clients, " + plan.locks() + " locks, ttl "
                + plan.ttl().toMillis() + " ms; acquisitions " + acquisitions + "; faults seen: " + faults
                + "; overlaps=" + overlaps.size() + ", token regressions=" + regressions.size()
                + ", lost updates naive=" + lost(updates, "naive/") + " checking=" + lost(updates, "checking/") + " of "
                + acknowledged(updates) + " acknowledged";
        boolean nothing = acquisitions == 0 || faults.isEmpty();
        int exitCode;
        if (plan.control()) {
            exitCode = overlaps.isEmpty() ? 1 : 0;
        } else {
            exitCode = !violations.isEmpty() ? 1 : nothing ? 2 : 0;
        }
        return new Verdict(line, violations, exitCode);
    }

    private static long lost(List<LostUpdateChecker.Result> updates, String prefix) {
        return updates.stream()
                .filter(r -> r.resource().startsWith(prefix))
                .mapToLong(LostUpdateChecker.Result::lost)
                .sum();
    }

    private static long acknowledged(List<LostUpdateChecker.Result> updates) {
        return updates.stream()
                .mapToLong(LostUpdateChecker.Result::acknowledged)
                .sum();
    }
}
