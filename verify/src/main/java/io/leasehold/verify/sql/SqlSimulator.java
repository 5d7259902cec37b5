package io.leasehold.verify.sql;

import io.leasehold.verify.run.Seeds;

/** Runs plans over the SQL stores. */
public final class SqlSimulator {

    private SqlSimulator() {}

    /** The seeds of the plans. */
    public static Seeds<?> seeds() {
        return new Seeds<>(SqlPlan::ofSeed, (plan, trace) -> new SqlSimulation(plan, trace).run(), SqlFault.values());
    }
}
