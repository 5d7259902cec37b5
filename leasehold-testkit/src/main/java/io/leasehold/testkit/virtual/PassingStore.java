package io.leasehold.testkit.virtual;

import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.PassingKeeper;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** Passes everything on to a store; a subclass watches or breaks a verb. Thread-safe if the store is. */
public abstract class PassingStore extends PassingKeeper implements LockStore {

    private final LockStore store;

    /** Over this store. */
    public PassingStore(LockStore store) {
        super(store);
        this.store = store;
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
        return store.acquire(request);
    }

    @Override
    public Duration maxTtl() {
        return store.maxTtl();
    }

    @Override
    public boolean isOfNodes() {
        return store.isOfNodes();
    }
}
