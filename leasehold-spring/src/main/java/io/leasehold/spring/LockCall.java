package io.leasehold.spring;

import io.leasehold.Acquirable;
import io.leasehold.Attempt;
import io.leasehold.Hold;
import io.leasehold.LockName;
import io.leasehold.spi.method.AskedLocks;
import io.leasehold.spi.method.LeaseScope;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One call of a locked body.
 *
 * @param asked the locks
 * @param lock the same, to be acquired
 * @param maxWait the patience
 * @param commitGuard the validity that a commit inside needs
 * @param onLoss what happens to the body on a loss
 * @param outerTransaction what happens inside a transaction of the caller
 * @param body what runs
 * @param whenBusy what the caller gets where the lock stayed busy
 * @param observations where the wait is observed
 * @param interrupted what the caller gets where its thread was interrupted while it waited for the lock
 */
record LockCall(
        AskedLocks asked,
        Acquirable<? extends Hold> lock,
        Duration maxWait,
        Duration commitGuard,
        OnLoss onLoss,
        OuterTransaction outerTransaction,
        Body body,
        WhenBusy whenBusy,
        ObservationRegistry observations,
        Function<InterruptedException, Exception> interrupted) {

    /** The work that runs while the lock is held. */
    interface Body {
        @Nullable
        Object run(Hold hold) throws Throwable;

        /** As {@link #run(Hold)}, where the body can be cancelled: one whose code goes on elsewhere after that tells it. */
        default @Nullable Object run(Hold hold, Inside inside) throws Throwable {
            return run(hold);
        }
    }

    /** The result for the caller where the lock stayed busy. */
    interface WhenBusy {
        @Nullable
        Object result(Attempt.Busy<?> busy) throws Throwable;
    }

    List<LockName> names() {
        return asked.names();
    }

    /** Waits, on the calling thread; only a failure of the wait is one of {@link #interrupted}. */
    Attempt<? extends Hold> attempt() throws Exception {
        WaitObservation wait = WaitObservation.start(observations, names(), null);
        try {
            Attempt<? extends Hold> attempt = lock.attempt(maxWait);
            wait.ended(attempt);
            return attempt;
        } catch (InterruptedException e) {
            wait.failed(e);
            throw interrupted.apply(e);
        } catch (RuntimeException | Error e) {
            wait.failed(e);
            throw e;
        }
    }

    LeaseScope scope(Hold hold, @Nullable LeaseScope outer) {
        return new LeaseScope(asked, hold, commitGuard, outer);
    }

    IllegalStateException refusedInTransaction() {
        return new IllegalStateException(
                "the lock " + asked + " is asked for inside a transaction of the caller, which would commit"
                        + " after the release: lock outside that transaction, or set outerTransaction to RELEASE_AFTER_COMPLETION");
    }
}
