package io.leasehold.testkit.virtual;

import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.MemberSet;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.PassingKeeper;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** Delegates every operation to another store; a subclass observes or breaks one. Thread-safe if the store is. */
public abstract class PassingStore extends PassingKeeper implements LockStore {

    private final LockStore store;

    /** Creates a delegate of this store. */
    public PassingStore(LockStore store) {
        super(store);
        this.store = store;
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
        return store.acquire(request);
    }

    @Override
    public CompletableFuture<AcquireReply> resume(AcquireRequest request, OwnerToken ticket) {
        return store.resume(request, ticket);
    }

    @Override
    public CompletableFuture<AcquireReply> downgrade(AcquireRequest request, OwnerToken writer) {
        return store.downgrade(request, writer);
    }

    @Override
    public Duration maxTtl() {
        return store.maxTtl();
    }

    @Override
    public boolean isOfNodes() {
        return store.isOfNodes();
    }

    @Override
    public Optional<MemberSet> members() {
        return store.members();
    }
}
