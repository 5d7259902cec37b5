package io.leasehold.spring;

import io.leasehold.Acquirable;
import io.leasehold.Attempt;
import io.leasehold.Hold;
import io.leasehold.LockName;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One call of a locked body.
 *
 * @param names the locks
 * @param lock the same, to be acquired
 * @param maxWait the patience
 * @param commitGuard the validity that a commit inside needs
 * @param onLoss what happens to the body on a loss
 * @param outerTransaction what happens inside a transaction of the caller
 * @param body what runs
 * @param whenBusy what the caller gets where the lock stayed busy
 */
record LockCall(
        List<LockName> names,
        Acquirable<? extends Hold> lock,
        Duration maxWait,
        Duration commitGuard,
        OnLoss onLoss,
        OuterTransaction outerTransaction,
        Body body,
        WhenBusy whenBusy) {

    /** What runs while the lock is held. */
    interface Body {
        @Nullable
        Object run(Hold hold) throws Throwable;
    }

    /** What the caller gets where the lock stayed busy. */
    interface WhenBusy {
        @Nullable
        Object result(Attempt.Busy<?> busy) throws Throwable;
    }

    LeaseScope scope(Hold hold, @Nullable LeaseScope outer) {
        return new LeaseScope(names, hold, commitGuard, outer);
    }

    IllegalStateException refusedInTransaction() {
        return new IllegalStateException(
                "the lock " + names + " is asked for inside a transaction of the caller, which would commit"
                        + " after the release: lock outside that transaction, or set outerTransaction to RELEASE_AFTER_COMPLETION");
    }
}
