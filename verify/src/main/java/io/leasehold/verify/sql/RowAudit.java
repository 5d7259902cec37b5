package io.leasehold.verify.sql;

import io.leasehold.verify.run.SimulatedRun;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Checks each row that a commit changes, for the rules that hold in the database whatever clients believe. */
final class RowAudit implements RowStore.Audit {

    private final SqlPlan plan;
    private final SimulatedRun<SqlFault> run;
    private final Map<String, Long> largestTokens = new HashMap<>();

    RowAudit(SqlPlan plan, SimulatedRun<SqlFault> run) {
        this.plan = plan;
        this.run = run;
    }

    @Override
    public void committed(@Nullable Row before, @Nullable Row after, long floor, long micros) {
        if (after == null) {
            if (before != null) {
                deleted(before, floor, micros);
            }
            return;
        }
        if (before != null && after.fence() < before.fence()) {
            run.problem("fence: a fence went down: " + before + " became " + after);
        }
        boolean granted =
                after.owner() != null && (before == null || !after.owner().equals(before.owner()));
        if (granted && before != null && before.isHeldAt(micros) && plan.hasEvenClock()) {
            run.problem("taken: a hold was taken from its owner: " + before + " became " + after);
        }
        if (granted || (after.owner() != null && before != null && after.token() != before.token())) {
            long largest = largestTokens.getOrDefault(after.name(), 0L);
            if (after.token() <= largest && isOrderPromised()) {
                run.problem("token: " + after.name() + " was granted with token " + after.token() + " after one of "
                        + largest);
            }
            largestTokens.merge(after.name(), after.fence(), Math::max);
        }
        if (before != null
                && before.isHeldAt(micros)
                && !granted
                && after.owner() != null
                && after.expiresAt() < before.expiresAt()
                && plan.hasEvenClock()) {
            run.problem("shortened: a hold ends sooner than it was granted: " + before + " became " + after);
        }
    }

    /**
     * PostgreSQL's single statement reads the floor at its beginning. The clock may be set back by more than the
     * retention while the statement waits for a row that housekeeping deletes. Then its token is below those of that
     * row.
     */
    private boolean isOrderPromised() {
        return plan.hasEvenClock() || plan.flavour() != Flavour.POSTGRESQL;
    }

    private void deleted(Row row, long floor, long micros) {
        run.saw(SqlFault.ROW_DELETED);
        if (row.fence() > floor) {
            run.problem("fence: housekeeping has removed a fence: " + row + ", floor " + floor);
        }
        if (plan.hasEvenClock() && row.isHeldAt(micros)) {
            run.problem("housekeeping: what is held was removed: " + row);
        } else if (plan.hasEvenClock() && row.fence() > micros - plan.retentionMillis() * 1000) {
            run.problem("housekeeping: a row in use was removed: " + row + " at " + micros);
        }
    }
}
