package io.leasehold.engine;

import io.leasehold.Attempt;
import io.leasehold.Hold;
import io.leasehold.Lease;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;

/**
 * An attempt on a lock whose lease the caller receives in another form: as a permit with its slot, or as a write lease.
 */
final class FormedAttempt<H extends Hold> extends PendingAttempt<H> {

    private final AcquireAttempt attempt;
    private final BiFunction<LeaseHandle, AcquireAttempt, H> form;

    /** Creates the view of an attempt that begins later. */
    FormedAttempt(AcquireAttempt attempt, BiFunction<LeaseHandle, AcquireAttempt, H> form) {
        super(attempt.settings, attempt.context, attempt.asked);
        this.attempt = attempt;
        this.form = form;
        attempt.result().whenComplete((outcome, error) -> {
            if (outcome == null) {
                result.completeExceptionally(error);
            } else {
                result.complete(formed(outcome));
            }
        });
    }

    /** Returns the attempt that contends. */
    AcquireAttempt contender() {
        return attempt;
    }

    private Attempt<H> formed(Attempt<Lease> outcome) {
        if (outcome instanceof Attempt.Acquired<Lease> acquired) {
            return new Attempt.Acquired<>(form.apply(LeaseHandle.of(acquired.lease()), attempt));
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
