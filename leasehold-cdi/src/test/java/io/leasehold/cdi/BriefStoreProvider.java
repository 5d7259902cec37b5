package io.leasehold.cdi;

import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreProvider;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.PassingStore;
import java.time.Duration;
import java.util.Set;

/** Provides {@code brief:}, a store in memory that accepts no ttl above ten seconds, as Redlock and ZooKeeper may. */
public final class BriefStoreProvider implements StoreProvider {

    /** Called by {@link java.util.ServiceLoader}. */
    public BriefStoreProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("brief");
    }

    @Override
    public LockStore open(StoreUri uri, LockRuntime runtime) {
        return new PassingStore(new SingleNodeStore(new InMemoryNode(runtime), runtime)) {
            @Override
            public Duration maxTtl() {
                return Duration.ofSeconds(10);
            }
        };
    }
}
