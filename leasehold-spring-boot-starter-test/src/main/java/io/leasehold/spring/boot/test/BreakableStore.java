package io.leasehold.spring.boot.test;

import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.testkit.virtual.PassingStore;
import java.util.concurrent.CompletableFuture;

/** A store that can be made unreachable. */
final class BreakableStore extends PassingStore {

    private volatile boolean broken;

    BreakableStore(LockStore store) {
        super(store);
    }

    void broken(boolean broken) {
        this.broken = broken;
    }

    private static StoreUnavailableException unreachable() {
        return new StoreUnavailableException("the store is unreachable: LockFaults.breakStore() was called", null);
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
        return broken
                ? CompletableFuture.completedFuture(
                        new AcquireReply.Failed(FailureKind.NO_EFFECT, unreachable(), request.ballotSoFar()))
                : super.acquire(request);
    }

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        return broken
                ? CompletableFuture.completedFuture(new RenewReply(batch.items().stream()
                        .map(item -> (RenewReply.Item) new RenewReply.Failed(unreachable()))
                        .toList()))
                : super.renew(batch);
    }
}
