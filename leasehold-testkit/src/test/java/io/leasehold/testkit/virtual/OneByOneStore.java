package io.leasehold.testkit.virtual;

import io.leasehold.LockName;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.PassingKeeper;
import io.leasehold.spi.StorePermits;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A store of which a request takes one permit, whatever the store behind it can do. */
final class OneByOneStore extends PassingKeeper implements LockStore {

    private final LockStore store;

    OneByOneStore(LockStore store) {
        super(store);
        this.store = store;
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
        return store.acquire(request);
    }

    @Override
    public Optional<StorePermits> permits() {
        return store.permits().map(OneByOne::new);
    }

    private record OneByOne(StorePermits permits) implements StorePermits {

        @Override
        public CompletableFuture<Optional<PermitsStatus>> describe(LockName name) {
            return permits.describe(name);
        }

        @Override
        public CompletableFuture<List<PermitsStatus>> list(String glob, int limit) {
            return permits.list(glob, limit);
        }

        @Override
        public CompletableFuture<Boolean> change(LockName name, int count, long version) {
            return permits.change(name, count, version);
        }

        @Override
        public CompletableFuture<Boolean> forceRelease(LockName name, int slot, @Nullable String holderId) {
            return permits.forceRelease(name, slot, holderId);
        }
    }
}
