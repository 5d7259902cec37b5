package io.leasehold.cdi;

import io.leasehold.Attempt;
import io.leasehold.Hold;
import io.leasehold.LeaseLostException;
import io.leasehold.spi.method.LeaseScope;
import org.jspecify.annotations.Nullable;

/** Runs locked bodies that have ended when they return, on the calling thread. */
final class BlockingCalls {

    private BlockingCalls() {}

    static @Nullable Object run(LockCall call) throws Throwable {
        LeaseScope around = LeaseScope.current();
        LeaseScope.refuseHeld(around, call.asked());
        Transactions transactions = call.locks().transactions();
        boolean outer = transactions.isActive();
        call.refuseFailingOuter(outer);
        KeptLease shared = outer ? transactions.kept(call.asked()) : null;
        if (shared != null && shared.enter()) {
            return ended(call, sharing(call, shared, around), shared);
        }
        Attempt<? extends Hold> attempt = call.attempt();
        if (attempt instanceof Attempt.Busy<?> busy) {
            return call.whenBusy(busy);
        }
        LeaseScope scope = call.scope(attempt.orElseThrow(), around);
        return ended(call, scope, outer ? kept(transactions, scope) : null);
    }

    /** Shares a kept lease, and also guards the commit for this call. */
    private static LeaseScope sharing(LockCall call, KeptLease shared, @Nullable LeaseScope around) {
        LeaseScope scope = call.scope(shared.scope().hold(), around);
        try {
            if (shared.raises(call.locks().commitGuard())) {
                call.locks().transactions().guard(scope);
            }
            return scope;
        } catch (RuntimeException | Error e) {
            shared.leave();
            throw e;
        }
    }

    private static @Nullable KeptLease kept(Transactions transactions, LeaseScope scope) {
        KeptLease kept = new KeptLease(scope);
        try {
            return transactions.keep(kept) ? kept : null;
        } catch (RuntimeException | Error e) {
            scope.hold().close();
            throw e;
        }
    }

    /** Runs the body and then releases the lease, unless a transaction keeps it. */
    private static @Nullable Object ended(LockCall call, LeaseScope scope, @Nullable KeptLease kept) throws Throwable {
        Object result = null;
        Throwable thrown = null;
        try {
            boolean interrupts = call.locks().method().onLoss() == OnLoss.INTERRUPT;
            result = scope.run(interrupts, () -> call.body(scope.hold()));
        } catch (Throwable e) {
            thrown = e;
        }
        LeaseLostException lost = scope.loss();
        if (kept != null) {
            kept.leave();
        } else {
            LeaseLostException found = scope.release();
            lost = lost != null ? lost : found;
        }
        Throwable end = LeaseScope.outcome(lost, thrown);
        if (end != null) {
            throw end;
        }
        return result;
    }
}
