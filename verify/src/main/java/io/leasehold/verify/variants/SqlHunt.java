package io.leasehold.verify.variants;

import io.leasehold.verify.sql.SqlSimulator;
import java.util.function.IntFunction;

/** Runs seeds over the SQL stores until one fails; created in the class loader of a variant. */
public final class SqlHunt implements IntFunction<String> {

    /** Called by reflection. */
    public SqlHunt() {}

    /** The place of detection within this many seeds, or an empty text. */
    @Override
    public String apply(int runs) {
        for (long seed = 1; seed <= runs; seed++) {
            String problem;
            try {
                problem = SqlSimulator.seeds().problemOf(seed);
            } catch (IllegalStateException e) {
                problem = String.valueOf(e.getMessage());
            }
            if (!problem.isEmpty()) {
                return "simulator, seed " + seed + ": "
                        + (problem.length() > 110 ? problem.substring(0, 110) + "…" : problem);
            }
        }
        return "";
    }
}
