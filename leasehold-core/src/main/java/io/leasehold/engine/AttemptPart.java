package io.leasehold.engine;

import io.leasehold.LockListener.AttemptOutcome;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The part of an {@link AcquireAttempt} in that of its caller.
 *
 * @param news receives the outcome before the result is available; null if the listeners do
 * @param afterAnswer called after each answer of the store has been processed
 * @param repeated whether another attempt follows if this one, without patience, finds the lock busy
 * @param permits how many permits it requests; 1 for a lock
 * @param quiet whether the listeners learn nothing of the lease until {@link ActiveLease#joined}
 */
record AttemptPart(
        @Nullable Consumer<AttemptOutcome> news, Runnable afterAnswer, boolean repeated, int permits, boolean quiet) {

    /** An attempt of a caller of its own, on one lock or permit. */
    static final AttemptPart WHOLE = new AttemptPart(null, () -> {}, false, 1, false);
}
