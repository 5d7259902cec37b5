package io.leasehold.cli;

import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreProvider;
import io.leasehold.spi.StoreUri;
import java.util.Set;

/** Fails like a store of which a part is missing on the class path. */
public final class BreakingStoreProvider implements StoreProvider {

    @Override
    public Set<String> schemes() {
        return Set.of("of-a-test-that-breaks");
    }

    @Override
    public LockStore open(StoreUri uri, LockRuntime runtime) {
        throw new NoClassDefFoundError("org/example/Driver");
    }
}
