package io.leasehold.spring;

import io.leasehold.Attempt;
import io.leasehold.Hold;
import io.leasehold.LeaseLostException;
import io.leasehold.spi.method.LeaseScope;
import io.leasehold.spi.method.LossInterrupt;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Locked bodies that have ended when they return: they run on the calling thread. */
final class BlockingCalls {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

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

    /** Runs the body; gives the lease back after it, unless a transaction keeps it. */
    private static @Nullable Object ended(LockCall call, LeaseScope scope, boolean kept) throws Throwable {
        Object result = null;
        Throwable thrown = null;
        try {
            result = inside(call, scope);
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

    private static @Nullable Object inside(LockCall call, LeaseScope scope) throws Throwable {
        LossInterrupt interrupt = call.onLoss() == OnLoss.INTERRUPT ? LossInterrupt.armed(scope.hold()) : null;
        LeaseScope before = scope.enter();
        try {
            return InheritedScope.run(scope, call.body());
        } finally {
            LeaseScope.backTo(before);
            if (interrupt != null) {
                interrupt.callOff();
            }
        }
    }

    /** Returns the loss that the exit finds, and releases where no transaction goes on. */
    private static @Nullable LeaseLostException loss(LeaseScope scope, boolean kept) {
        LeaseLostException lost = scope.loss();
        if (kept) {
            return lost;
        }
        try {
            LeaseLostException found = scope.foundBy(scope.hold().release());
            return lost != null ? lost : found;
        } catch (RuntimeException e) {
            LOG.atWarn().setCause(e).log("releasing {} failed; it ends with its ttl", scope.hold());
            return lost;
        }
    }
}
