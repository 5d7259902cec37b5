package io.leasehold.engine;

import io.leasehold.Lease;
import io.leasehold.WriteLease;
import io.leasehold.spi.LockRuntime;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** The caller's reference to a write lease: a lease that can become that of a reader. */
final class WriteHandle extends PassingLease implements WriteLease {

    private final Function<LeaseHandle, CompletableFuture<LeaseHandle>> downgrading;

    /**
     * Creates the reference.
     *
     * @param downgrading begins a downgrade, which completes on any thread
     */
    WriteHandle(LeaseHandle lease, Function<LeaseHandle, CompletableFuture<LeaseHandle>> downgrading) {
        super(lease);
        this.downgrading = downgrading;
    }

    @Override
    public Lease downgrade() {
        LeaseHandle reader = Futures.join(runtime(), downgrading.apply(lease));
        reader.openedBy(Thread.currentThread());
        return reader;
    }

    @Override
    public CompletableFuture<Lease> downgradeAsync() {
        CompletableFuture<Lease> handed = new CompletableFuture<>();
        downgrading
                .apply(lease)
                .whenComplete((reader, error) -> Futures.execute(runtime(), () -> {
                    if (error != null) {
                        handed.completeExceptionally(Futures.unwrapped(error));
                    } else if (!handed.complete(reader)) {
                        reader.giveBackUnseen();
                    }
                }));
        return handed;
    }

    private LockRuntime runtime() {
        return lease.state().owner().context().runtime();
    }

    @Override
    public String toString() {
        return "Write" + lease;
    }
}
