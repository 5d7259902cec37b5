package io.leasehold.spring;

import io.leasehold.Attempt;
import io.leasehold.Hold;
import io.leasehold.LeaseLostException;
import io.leasehold.spi.method.LeaseScope;
import org.jspecify.annotations.Nullable;

/** Runs locked bodies that have ended when they return, on the calling thread. */
final class BlockingCalls {

    private BlockingCalls() {}

    static @Nullable Object run(LockCall call) throws Throwable {
        LeaseScope around = InheritedScope.current();
        LeaseScope.refuseHeld(around, call.asked());
        boolean outer = ThreadTransactions.isActive();
        if (outer && call.outerTransaction() == OuterTransaction.FAIL) {
            throw call.refusedInTransaction();
        }
        LeaseScope kept = outer ? ThreadTransactions.kept(call) : null;
        if (kept != null) {
            LeaseScope shared = call.scope(kept.hold(), around);
            ThreadTransactions.checkToo(shared);
            return ended(call, shared, true);
        }
        Attempt<? extends Hold> attempt = call.attempt();
        if (attempt instanceof Attempt.Busy<?> busy) {
            return call.whenBusy().result(busy);
        }
        LeaseScope scope = call.scope(attempt.orElseThrow(), around);
        if (outer) {
            registered(scope);
        }
        return ended(call, scope, outer);
    }

    /** Runs the body and then releases the lease, unless a transaction keeps it. */
    private static @Nullable Object ended(LockCall call, LeaseScope scope, boolean kept) throws Throwable {
        Object result = null;
        Throwable thrown = null;
        try {
            result = scope.run(call.onLoss() == OnLoss.INTERRUPT, () -> InheritedScope.run(scope, call.body()));
        } catch (Throwable e) {
            thrown = e;
        }
        Throwable end = LeaseScope.outcome(loss(scope, kept), thrown);
        if (end != null) {
            throw end;
        }
        return result;
    }

    private static void registered(LeaseScope scope) {
        try {
            ThreadTransactions.releaseAfterCompletion(scope);
        } catch (RuntimeException | Error e) {
            scope.hold().close();
            throw e;
        }
    }

    /** Returns the loss that is found at the end, and releases the lease if no transaction keeps it. */
    private static @Nullable LeaseLostException loss(LeaseScope scope, boolean kept) {
        LeaseLostException lost = scope.loss();
        if (kept) {
            return lost;
        }
        LeaseLostException found = scope.release();
        return lost != null ? lost : found;
    }
}
