package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.LockNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A hundred thousand turns of eight threads at one lock. */
@Tag("full")
final class MemoryTurnsTest implements SharesStore {

    private static final int MANY = 100_000;

    private static final StoreFixture FIXTURE = new StoreFixture() {
        private final LockNode shared = new InMemoryNode(new WallTimeRuntime());

        @Override
        public String name() {
            return "memory";
        }

        @Override
        public LockStore open(LockRuntime runtime) {
            return new SingleNodeStore(shared, runtime);
        }
    };

    @Override
    public StoreFixture fixture() {
        return FIXTURE;
    }

    @Test
    void threadsOfOneProcessTakeTurns(TckBench bench) {
        Turns turns = bench.turns(bench.name("turns"), MANY);
        turns.awaitNoTimer();
        System.out.println(MANY + " turns: " + turns.leases() + " leases of " + turns.grants() + " grants");
        assertTrue(turns.leases() > MANY / 4, "leases: " + turns.leases());
        assertTrue(turns.leases() > 2 * turns.grants(), "handed over within the process: most of them");
    }
}
