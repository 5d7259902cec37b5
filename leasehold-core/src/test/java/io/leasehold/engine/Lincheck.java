package io.leasehold.engine;

import org.jetbrains.lincheck.datastructures.StressOptions;
import org.jetbrains.lincheck.util.LoggingLevel;

/**
 * The size of the Lincheck runs that a build can afford. They use the stress mode: the model checker decides by a clock
 * whether a thread hangs, and on a busy machine it mistakes the spinning inside a {@code ConcurrentHashMap} for that.
 */
final class Lincheck {

    private static final int SCENARIOS = 10;
    private static final int RUNS_OF_EACH = 300;

    private Lincheck() {}

    static void stress(Class<?> operations, Class<?> specification) {
        stressOptions().sequentialSpecification(specification).check(operations);
    }

    /** For operations that need only the validation at the end. */
    static void stress(Class<?> operations) {
        stressOptions().check(operations);
    }

    /** The same for races of two or three operations, which have to meet often. */
    static void stressPairs(Class<?> operations) {
        stressOptions()
                .iterations(2 * SCENARIOS)
                .actorsPerThread(2)
                .actorsBefore(0)
                .actorsAfter(0)
                .check(operations);
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
