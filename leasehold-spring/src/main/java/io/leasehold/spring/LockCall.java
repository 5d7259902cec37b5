package io.leasehold.spring;

import io.leasehold.Acquirable;
import io.leasehold.Attempt;
import io.leasehold.Hold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.MultiLock;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One call of a locked body.
 *
 * @param names the locks
 * @param client at which they are
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
        List<LockName> names,
        LockClient client,
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

    /** Waits, on the calling thread; only a failure of the wait is one of {@link #interrupted}. */
    Attempt<? extends Hold> attempt() throws Exception {
        WaitObservation wait = WaitObservation.start(observations, names, null);
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
        return new LeaseScope(names, client, hold, commitGuard, outer);
    }

    /**
     * Of the scopes that a transaction of the caller keeps, the one with just these locks: an earlier call in it has taken them.
     *
     * @throws IllegalStateException if one has some of them
     * @throws io.leasehold.LeaseLostException if it has been lost since
     */
    @Nullable
    LeaseScope keptBy(Stream<LeaseScope> scopes) {
        List<LeaseScope> overlapping =
                scopes.filter(scope -> scope.hasAnyOf(client, names)).toList();
        if (overlapping.isEmpty()) {
            return null;
        }
        LeaseScope kept = overlapping.get(0);
        if (!kept.isOf(names, lock instanceof MultiLock)) {
            throw new IllegalStateException(
                    "the locks " + names + " are asked for inside a transaction of the caller that"
                            + " already holds some of them, until it has completed: ask for the same ones each time, or take all of"
                            + " them before it begins");
        }
        kept.hold().ensureValidFor(Duration.ZERO);
        return kept;
    }

    IllegalStateException refusedInTransaction() {
        return new IllegalStateException(
                "the lock " + names + " is asked for inside a transaction of the caller, which would commit"
                        + " after the release: lock outside that transaction, or set outerTransaction to RELEASE_AFTER_COMPLETION");
    }
}
