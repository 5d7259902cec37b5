package io.leasehold.verify.chaos;

import io.leasehold.simulator.LeaseKind;
import io.leasehold.simulator.history.History;
import io.leasehold.simulator.history.LostUpdateChecker;
import io.leasehold.simulator.history.MutexModel;
import io.leasehold.simulator.history.OverlapChecker;
import io.leasehold.simulator.history.ReadersChecker;
import io.leasehold.simulator.history.StableReadChecker;
import io.leasehold.simulator.history.TokenChecker;
import io.leasehold.simulator.history.Violation;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * The judgement on the histories of a run.
 *
 * @param line the figures
 * @param violations the violations
 * @param exitCode see {@link ChaosCommand}
 * @param figures for the ledger
 * @param broken the number of violations of each promise
 */
record Verdict(String line, List<Violation> violations, int exitCode, Figures figures, String broken) {

    private static final String CHECKING = "checking/";
    private static final String NAIVE = "naive/";

    /**
     * Judges the histories.
     *
     * @param resumed the number of leases that tickets gave: a run of tickets with zero proves nothing
     * @param removed the number of rows that housekeeping removed, if it is counted: a run with zero proves nothing
     * @param aftermath the findings after the faults
     */
    static Verdict of(
            ChaosPlan plan,
            String store,
            FaultCounts faults,
            int resumed,
            OptionalLong removed,
            History history,
            List<Violation> aftermath) {
        List<Violation> overlaps = OverlapChecker.check(history);
        List<Violation> regressions = TokenChecker.check(history);
        List<Violation> readers = ReadersChecker.check(history);
        List<LostUpdateChecker.Result> updates = LostUpdateChecker.check(history);
        List<Violation> violations = new ArrayList<>(aftermath);
        boolean exclusion = !plan.store().isBestEffort();
        if (exclusion) {
            violations.addAll(overlaps);
            violations.addAll(regressions);
            violations.addAll(readers);
        }
        violations.addAll(StableReadChecker.check(history, CHECKING));
        for (LostUpdateChecker.Result result : updates) {
            if (result.resource().startsWith(CHECKING) && result.lost() > 0) {
                violations.add(new Violation(result.resource(), result.lost() + " acknowledged updates were lost"));
            }
        }
        StringBuilder models = new StringBuilder();
        for (MutexModel model : MutexModel.values()) {
            List<Violation> broken = model.check(history);
            models.append(models.isEmpty() ? "" : " ").append(model).append('=').append(broken.size());
            broken.stream().filter(v -> exclusion && !violations.contains(v)).forEach(violations::add);
        }
        long acquisitions = history.acquisitions();
        Figures figures = new Figures(
                plan.duration().toSeconds(),
                acquisitions,
                acknowledged(updates, CHECKING),
                lost(updates, CHECKING),
                acknowledged(updates, NAIVE),
                lost(updates, NAIVE),
                violations.size());
        boolean withReaders = plan.kind() == LeaseKind.READERS;
        String broken = (exclusion ? "" : "best effort: ") + "overlaps=" + overlaps.size() + ", token regressions="
                + regressions.size() + (withReaders ? ", readers and writers=" + readers.size() : "") + ", models "
                + models + ", orphans and liveness=" + aftermath.size();
        String line = "chaos " + store + (plan.kind() == LeaseKind.LOCKS ? "" : " " + plan.kind())
                + (plan.control() == null ? "" : " CONTROL (" + plan.control() + ")") + ": seed "
                + plan.seed()
                + ", "
                + plan.duration().toSeconds() + " s, " + plan.clients() + " clients, " + plan.locks() + " locks, ttl "
                + plan.ttl().toMillis() + " ms; acquisitions " + acquisitions + "; faults seen: " + faults
                + "; " + broken
                + ", lost updates naive=" + figures.naiveLost() + " of " + figures.naive() + ", checking="
                + figures.checkingLost() + " of " + figures.checking() + " acknowledged"
                + (plan.kind() == LeaseKind.TICKETS ? "; leases resumed " + resumed : "")
                + (removed.isPresent() ? "; rows removed by housekeeping " + removed.getAsLong() : "");
        // The number of permits of a name stays, and with it all rows of the name.
        boolean mustRemove = plan.kind() != LeaseKind.PERMITS;
        boolean withTickets = plan.kind() == LeaseKind.TICKETS;
        boolean nothing = acquisitions == 0
                || faults.isEmpty()
                || (withTickets && resumed == 0)
                || (mustRemove && removed.orElse(1) == 0);
        int exitCode;
        if (plan.control() != null) {
            exitCode = overlaps.isEmpty() && regressions.isEmpty() && aftermath.isEmpty() ? 1 : 0;
        } else {
            exitCode = !violations.isEmpty() ? 1 : nothing ? 2 : 0;
        }
        return new Verdict(line, violations, exitCode, figures, broken);
    }

    /** The figures that a run adds to the ledger. */
    record Figures(
            long seconds,
            long acquisitions,
            long checking,
            long checkingLost,
            long naive,
            long naiveLost,
            long violations) {}

    private static long lost(List<LostUpdateChecker.Result> updates, String prefix) {
        return updates.stream()
                .filter(r -> r.resource().startsWith(prefix))
                .mapToLong(LostUpdateChecker.Result::lost)
                .sum();
    }

    private static long acknowledged(List<LostUpdateChecker.Result> updates, String prefix) {
        return updates.stream()
                .filter(r -> r.resource().startsWith(prefix))
                .mapToLong(LostUpdateChecker.Result::acknowledged)
                .sum();
    }
}
