package io.leasehold.testkit.tck;

import io.leasehold.memory.InMemoryNode;
import io.leasehold.quorum.QuorumMember;
import io.leasehold.quorum.QuorumSettings;
import io.leasehold.quorum.QuorumStore;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.toolkit.PermitsByLocks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;

/** The quorum of five in-memory nodes passes the TCK. */
@Tag("quick")
final class QuorumTckTest implements BackendTck {

    private static final StoreFixture FIXTURE = new StoreFixture() {
        private final List<InMemoryNode> nodes = declared();

        private List<InMemoryNode> declared() {
            WallTimeRuntime runtime = new WallTimeRuntime();
            List<InMemoryNode> fresh = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                fresh.add(new InMemoryNode(runtime));
            }
            QuorumStore store = storeOf(fresh, runtime);
            TckBench.join(store.declareNew(Duration.ofSeconds(20).toNanos()));
            store.close();
            return fresh;
        }

        private QuorumStore storeOf(List<InMemoryNode> fresh, LockRuntime runtime) {
            List<QuorumMember> members = new ArrayList<>();
            for (int i = 0; i < fresh.size(); i++) {
                members.add(QuorumMember.of(fresh.get(i), "node-" + i));
            }
            QuorumSettings settings =
                    QuorumSettings.standard().maxTtl(Duration.ofHours(1)).nodeTimeout(Duration.ofMillis(300));
            return new QuorumStore(members, settings, runtime);
        }

        @Override
        public String name() {
            return "quorum of memory";
        }

        @Override
        public LockStore open(LockRuntime runtime) {
            return new PermitsByLocks(storeOf(nodes, runtime), runtime);
        }
    };

    @Override
    public StoreFixture fixture() {
        return FIXTURE;
    }
}
