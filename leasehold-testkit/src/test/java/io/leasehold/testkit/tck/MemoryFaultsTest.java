package io.leasehold.testkit.tck;

import io.leasehold.LockName;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.LockNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;

/** Tests that the in-memory store survives those faults of the TCK that can happen to it. */
@Tag("full")
final class MemoryFaultsTest implements FaultsTck {

    private static final FaultyFixture FIXTURE = new FaultyFixture() {
        private final LockNode shared = new InMemoryNode(new WallTimeRuntime());

        @Override
        public String name() {
            return "memory";
        }

        @Override
        public LockStore open(LockRuntime runtime) {
            return new SingleNodeStore(shared, runtime);
        }

        @Override
        public StoreFront front() {
            return GateFront.before(shared);
        }

        @Override
        public List<String> kept(LockName name) {
            List<String> kept = new ArrayList<>();
            shared.admin()
                    .describe(name)
                    .join()
                    .ifPresent(record -> kept.add("holder " + record.holder().id()));
            shared.admin().waiters(name, 100).join().forEach(waiter -> kept.add("waiter " + waiter.holderId()));
            return kept;
        }
    };

    @Override
    public FaultyFixture fixture() {
        return FIXTURE;
    }
}
