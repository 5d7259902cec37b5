package io.leasehold.memory;

import io.leasehold.CredentialsProvider;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreProvider;
import io.leasehold.spi.StoreUri;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Opens {@code memory:} with a separate store for each client. To exclude each other, clients share an {@link InMemoryNode}.
 */
public final class InMemoryStoreProvider implements StoreProvider {

    /** Called by {@link java.util.ServiceLoader}. */
    public InMemoryStoreProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("memory");
    }

    @Override
    public void check(StoreUri uri, @Nullable CredentialsProvider credentials) {
        if (credentials != null) {
            throw StoreProvider.withoutLogin(uri);
        }
        checkEmpty(uri);
    }

    @Override
    public LockStore open(StoreUri uri, LockRuntime runtime) {
        checkEmpty(uri);
        return new SingleNodeStore(InMemoryNode.ofOneProcess(runtime), runtime);
    }

    private static void checkEmpty(StoreUri uri) {
        if (!uri.rest().isEmpty()) {
            throw new IllegalArgumentException("store URI \"" + uri.redacted()
                    + "\": nothing may follow \"memory:\"; each client has its own store");
        }
    }
}
