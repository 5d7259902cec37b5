package io.leasehold.engine;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.Permit;
import java.util.concurrent.CompletableFuture;

/** An attempt to acquire a permit: an attempt on the lock of that name, whose lease has a slot. */
final class PermitAttempt extends PendingAttempt<Permit> {

    private final AcquireAttempt attempt;

    /** Creates the view of an attempt that begins later. */
    PermitAttempt(AcquireAttempt attempt) {
        super(attempt.settings, attempt.context, attempt.asked);
        this.attempt = attempt;
        attempt.result().whenComplete((outcome, error) -> {
            if (outcome == null) {
                result.completeExceptionally(error);
            } else {
                result.complete(withSlot(outcome));
            }
        });
    }

    /** Returns the attempt that contends. */
    AcquireAttempt contender() {
        return attempt;
    }

    private Attempt<Permit> withSlot(Attempt<Lease> outcome) {
        if (outcome instanceof Attempt.Acquired<Lease> acquired) {
            return new Attempt.Acquired<>(new PermitHandle(LeaseHandle.of(acquired.lease()), attempt.slot()));
        }
        Attempt.Busy<Lease> busy = (Attempt.Busy<Lease>) outcome;
        return new Attempt.Busy<>(busy.lockName(), busy.waited(), busy.holder(), busy.votes());
    }

    @Override
    CompletableFuture<?> giveUp() {
        return attempt.giveUp();
    }

    @Override
    public void clientClosing() {
        attempt.clientClosing();
    }
}
