package io.leasehold.engine;

import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.jetbrains.lincheck.util.LoggingLevel;

/**
 * How much of Lincheck a build can afford: model checking instruments everything that is reachable, so it runs few and small
 * scenarios; the stress runs more of them, and larger ones.
 */
final class Lincheck {

    private static final int SCENARIOS = 12;
    private static final int RUNS_OF_EACH = 300;

    private Lincheck() {}

    static void modelCheck(Class<?> operations, Class<?> specification, int scenarios, int runsOfEach) {
        new ModelCheckingOptions()
                .logLevel(LoggingLevel.ERROR)
                .iterations(scenarios)
                .invocationsPerIteration(runsOfEach)
                .threads(2)
                .actorsPerThread(2)
                .actorsBefore(1)
                .actorsAfter(1)
                .sequentialSpecification(specification)
                .check(operations);
    }

    static void stress(Class<?> operations, Class<?> specification) {
        stressOptions().sequentialSpecification(specification).check(operations);
    }

    /** Where only the validation at the end is asked for. */
    static void stress(Class<?> operations) {
        stressOptions().check(operations);
    }

    private static StressOptions stressOptions() {
        return new StressOptions()
                .logLevel(LoggingLevel.ERROR)
                .iterations(SCENARIOS)
                .invocationsPerIteration(RUNS_OF_EACH)
                .threads(2)
                .actorsPerThread(3)
                .actorsBefore(1)
                .actorsAfter(1);
    }
}
