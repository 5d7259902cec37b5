package io.leasehold.testkit.tck;

import org.junit.jupiter.api.Test;

/**
 * Tests in which threads of one process acquire one lock in turn, mostly by hand-over within the process, and some of
 * them leave or lose it.
 */
public interface TurnsTck extends SharesStore {

    /** No token is handed out twice, no hold is lost or left, and each thread learns the outcome of its own. */
    @Test
    default void threadsOfOneProcessTakeTurns(TckBench bench) {
        bench.turns(bench.name("turns"), 400);
    }
}
