package io.leasehold.engine;

import org.jetbrains.lincheck.datastructures.StressOptions;
import org.jetbrains.lincheck.util.LoggingLevel;

/**
 * How much of Lincheck a build can afford. Its stress mode, since its model checker judges by a clock whether a thread
 * hangs: on a busy machine it takes the spinning inside a {@code ConcurrentHashMap} for that.
 */
final class Lincheck {

    private static final int SCENARIOS = 10;
    private static final int RUNS_OF_EACH = 300;

    private Lincheck() {}

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
