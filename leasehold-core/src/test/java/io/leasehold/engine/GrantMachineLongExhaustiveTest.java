package io.leasehold.engine;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The sequences of {@link GrantMachineExhaustiveTest} with one more event, which are fifteen times as many. */
@Tag("full")
final class GrantMachineLongExhaustiveTest {

    private static final int DEPTH = 6;

    @Test
    void everyOrderOfEventsKeepsTheInvariants() {
        GrantMachineExhaustiveTest.explore(DEPTH, GrantMachineExhaustiveTest.OPTIONS);
    }
}
