package io.leasehold.engine;

import io.leasehold.Guarantee;
import io.leasehold.Guarantees;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.TokenRange;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/** A store that answers at once: busy, renewed, released, downgraded; it counts releases, and notes a renewal that was sent after a release. */
final class AnsweringStore implements LockStore, StoreAdmin {

    private static final CompletableFuture<ReleaseReply> RELEASED =
            CompletableFuture.completedFuture(new ReleaseReply.Released());

    volatile boolean released;
    final AtomicInteger releases = new AtomicInteger();
    volatile boolean renewedAfterRelease;
    volatile boolean renewed;
    volatile boolean asked;

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        renewed = true;
        if (released) {
            renewedAfterRelease = true;
        }
        return CompletableFuture.completedFuture(new RenewReply(List.of(new RenewReply.Renewed(0))));
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        released = true;
        releases.incrementAndGet();
        return RELEASED;
    }

    @Override
    public String description() {
        return "answering:";
    }

    @Override
    public Guarantees guarantees() {
        return new Guarantees(
                Guarantee.Exclusion.WITHIN_DRIFT,
                Guarantee.Fencing.INCREASING,
                Guarantee.Queueing.FIFO,
                Guarantee.Scope.PROCESS);
    }

    @Override
    public void listen(StoreSignals signals) {}

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
        asked = true;
        return CompletableFuture.completedFuture(new AcquireReply.Busy(null, 0, List.of()));
    }

    @Override
    public boolean keepsReaders() {
        return true;
    }

    @Override
    public CompletableFuture<AcquireReply> downgrade(AcquireRequest request, OwnerToken writer) {
        Grant grant = new Grant(request.owner(), TokenRange.of(100, 1), 0, Incarnation.DURABLE);
        return CompletableFuture.completedFuture(new AcquireReply.Granted(grant, List.of()));
    }

    @Override
    public StoreAdmin admin() {
        return this;
    }

    @Override
    public CompletableFuture<Optional<HeldLock>> describe(LockName name) {
        return CompletableFuture.completedFuture(Optional.empty());
    }

    @Override
    public CompletableFuture<List<HeldLock>> list(String glob, int limit) {
        return CompletableFuture.completedFuture(List.of());
    }

    @Override
    public CompletableFuture<Boolean> forceRelease(LockName name, String holderId) {
        return CompletableFuture.completedFuture(false);
    }

    @Override
    public void close() {}
}
