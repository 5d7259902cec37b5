package io.leasehold.testkit.virtual;

import io.leasehold.Guarantees;
import io.leasehold.LockName;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.StoreOperations;
import io.leasehold.spi.StoreSignals;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Passes everything on to a store; a subclass watches or breaks a verb. Thread-safe if the store is. */
public abstract class PassingStore implements LockStore {

    private final LockStore store;

    /** Over this store. */
    public PassingStore(LockStore store) {
        this.store = store;
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
        return store.acquire(request);
    }

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        return store.renew(batch);
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        return store.release(request);
    }

    @Override
    public String description() {
        return store.description();
    }

    @Override
    public Guarantees guarantees() {
        return store.guarantees();
    }

    @Override
    public Duration maxTtl() {
        return store.maxTtl();
    }

    @Override
    public boolean isAtomicOver(List<LockName> names) {
        return store.isAtomicOver(names);
    }

    @Override
    public boolean isOfNodes() {
        return store.isOfNodes();
    }

    @Override
    public void listen(StoreSignals signals) {
        store.listen(signals);
    }

    @Override
    public StoreAdmin admin() {
        return store.admin();
    }

    @Override
    public StoreOperations operations() {
        return store.operations();
    }

    @Override
    public void close() {
        store.close();
    }
}
