package io.leasehold.engine;

import io.leasehold.Lease;
import io.leasehold.WriteLease;
import io.leasehold.spi.LockRuntime;
import java.util.concurrent.CompletableFuture;

/** The caller's reference to a write lease: a lease that can become that of a reader. */
final class WriteHandle extends PassingLease implements WriteLease {

    private final Attempts attempts;

    WriteHandle(LeaseHandle lease, Attempts attempts) {
        super(lease);
        this.attempts = attempts;
    }

    @Override
    public Lease downgrade() {
        LeaseHandle reader = Futures.join(runtime(), attempts.downgrade(lease));
        reader.openedBy(Thread.currentThread());
        return reader;
    }

    @Override
    public CompletableFuture<Lease> downgradeAsync() {
        CompletableFuture<Lease> handed = new CompletableFuture<>();
        attempts.downgrade(lease)
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
        return attempts.context().runtime();
    }

    @Override
    public String toString() {
        return "Write" + lease;
    }
}
