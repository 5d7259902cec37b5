package io.leasehold.spi;

import io.leasehold.Guarantees;
import io.leasehold.LockName;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * Delegates the common operations to another store or node; a subclass adds the rest. Thread-safe if the delegate is.
 */
public abstract class PassingKeeper implements LockKeeper {

    private final LockKeeper keeper;

    /** Creates a delegate of this store or node, which it closes. */
    public PassingKeeper(LockKeeper keeper) {
        this.keeper = Objects.requireNonNull(keeper, "keeper");
    }

    @Override
    public String description() {
        return keeper.description();
    }

    @Override
    public Guarantees guarantees() {
        return keeper.guarantees();
    }

    @Override
    public boolean isAtomicOver(List<LockName> names) {
        return keeper.isAtomicOver(names);
    }

    @Override
    public void listen(StoreSignals signals) {
        keeper.listen(signals);
    }

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        return keeper.renew(batch);
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        return keeper.release(request);
    }

    @Override
    public boolean keepsTickets() {
        return keeper.keepsTickets();
    }

    @Override
    public CompletableFuture<ExportReply> export(ExportRequest request) {
        return keeper.export(request);
    }

    @Override
    public boolean keepsReaders() {
        return keeper.keepsReaders();
    }

    @Override
    public boolean namesSuccessors() {
        return keeper.namesSuccessors();
    }

    @Override
    public CompletableFuture<SuccessorReply> nameSuccessor(SuccessorRequest request) {
        return keeper.nameSuccessor(request);
    }

    @Override
    public StoreAdmin admin() {
        return keeper.admin();
    }

    @Override
    public Optional<StorePermits> permits() {
        return keeper.permits();
    }

    @Override
    public StoreOperations operations() {
        return keeper.operations();
    }

    @Override
    public void close() {
        keeper.close();
    }
}
