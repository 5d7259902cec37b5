package io.leasehold.testkit.tck;

import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.LockNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import org.junit.jupiter.api.Tag;

/** The in-memory store passes the TCK. */
@Tag("quick")
final class MemoryTckTest implements BackendTck, LockNodeTck, HandOverTck {

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

    @Override
    public LockNode openNode(LockRuntime runtime) {
        return new InMemoryNode(runtime);
    }
}
