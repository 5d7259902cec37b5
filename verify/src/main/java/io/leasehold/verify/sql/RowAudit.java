package io.leasehold.verify.sql;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Looks at each row that a commit changes: what must hold in the database, whatever clients believe. */
final class RowAudit implements RowStore.Audit {

    private final SqlSimulation simulation;
    private final Map<String, Long> largestTokens = new HashMap<>();

    RowAudit(SqlSimulation simulation) {
        this.simulation = simulation;
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
            simulation.problem("fence: a fence went down: " + before + " became " + after);
        }
        boolean granted =
                after.owner() != null && (before == null || !after.owner().equals(before.owner()));
        if (granted && before != null && before.isHeldAt(micros) && simulation.plan.hasEvenClock()) {
            simulation.problem("taken: a hold was taken from its owner: " + before + " became " + after);
        }
        if (granted || (after.owner() != null && before != null && after.token() != before.token())) {
            long largest = largestTokens.getOrDefault(after.name(), 0L);
            if (after.token() <= largest && isOrderPromised()) {
                simulation.problem("token: " + after.name() + " was granted with token " + after.token()
                        + " after one of " + largest);
            }
            largestTokens.merge(after.name(), after.fence(), Math::max);
        }
        if (before != null
                && before.isHeldAt(micros)
                && !granted
                && after.owner() != null
                && after.expiresAt() < before.expiresAt()
                && simulation.plan.hasEvenClock()) {
            simulation.problem("shortened: a hold ends sooner than it was granted: " + before + " became " + after);
        }
    }

    /**
     * PostgreSQL's one statement reads the floor when it begins. If the clock is set back by more than the retention while it waits
     * for a row that housekeeping deletes, its token is below those of that row.
     */
    private boolean isOrderPromised() {
        return simulation.plan.hasEvenClock() || simulation.plan.flavour() != Flavour.POSTGRESQL;
    }

    private void deleted(Row row, long floor, long micros) {
        simulation.saw(SqlFault.ROW_DELETED);
        if (row.fence() > floor) {
            simulation.problem("fence: housekeeping has removed a fence: " + row + ", floor " + floor);
        }
        if (simulation.plan.hasEvenClock() && row.isHeldAt(micros)) {
            simulation.problem("housekeeping: what is held was removed: " + row);
        } else if (simulation.plan.hasEvenClock() && row.fence() > micros - simulation.plan.retentionMillis() * 1000) {
            simulation.problem("housekeeping: a row in use was removed: " + row + " at " + micros);
        }
    }
}
