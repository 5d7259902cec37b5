package io.leasehold.verify.variants;

import io.leasehold.simulator.SimulationPlan;
import io.leasehold.simulator.SimulationResult;
import io.leasehold.simulator.Simulator;
import java.util.function.IntFunction;

/** Runs seeds until one fails; created in the class loader of a variant. */
public final class Hunt implements IntFunction<String> {

    /** Called by reflection. */
    public Hunt() {}

    /** The place of detection within this many seeds, or an empty text. */
    @Override
    public String apply(int runs) {
        Simulator simulator = Simulator.standard();
        for (long seed = 1; seed <= runs; seed++) {
            SimulationResult result;
            try {
                result = simulator.run(SimulationPlan.ofSeed(seed));
            } catch (IllegalStateException e) {
                return "simulator, seed " + seed + ": " + e.getMessage();
            }
            if (result.failed()) {
                String problem = result.problems().get(0);
                return "simulator, seed " + seed + ": "
                        + (problem.length() > 110 ? problem.substring(0, 110) + "…" : problem);
            }
        }
        return "";
    }
}
