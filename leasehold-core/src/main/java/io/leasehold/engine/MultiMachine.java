package io.leasehold.engine;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;

/**
 * The decisions of an attempt on several locks. Pure.
 *
 * @param what the locks, for messages
 * @param timings the durations
 * @param maxWaitNanos the caller's patience
 * @param startAtNanos when the attempt began
 */
record MultiMachine(String what, Timings timings, long maxWaitNanos, long startAtNanos) {

    /** The next step after the answer to an atomic request. */
    sealed interface Next {}

    /** All locks were granted. */
    record Keep(Grant grant) implements Next {}

    /** Acquire the locks one after the other. */
    record TakeOneByOne() implements Next {}

    /** The attempt ends with this error. */
    record Fail(LockStoreException error) implements Next {}

    /** The caller has withdrawn. */
    record Leave() implements Next {}

    /**
     * The decision on the answer to an atomic request.
     *
     * @param undo whether the store may hold something for its owner token that must be ended
     * @param next the next step
     */
    record Decision(boolean undo, Next next) {}

    /** Processes the answer to an atomic request; {@code isGivenUp} if its caller has withdrawn in the meantime. */
    Decision onReply(AcquireReply reply, boolean isGivenUp, long nowNanos) {
        if (!isGivenUp && reply instanceof AcquireReply.Granted granted) {
            long untilAtNanos = granted.grant().sentAtNanos() + timings.validityNanos();
            if (isWorthKeeping(untilAtNanos - nowNanos)) {
                return new Decision(false, new Keep(granted.grant()));
            }
        }
        return new Decision(isRemembered(reply), isGivenUp ? new Leave() : afterFailure(reply));
    }

    /** Whether a part with this validity left is handed out. */
    boolean isWorthKeeping(long leftNanos) {
        return leftNanos >= Math.max(1, timings.minimumValidityNanos());
    }

    long patienceLeftNanos(long nowNanos) {
        return maxWaitNanos > Long.MAX_VALUE / 2 ? maxWaitNanos : Math.max(0, maxWaitNanos - (nowNanos - startAtNanos));
    }

    /** Whether the store may hold something for the owner token, such as a grant that does not count. */
    private static boolean isRemembered(AcquireReply reply) {
        if (reply instanceof AcquireReply.Refused refused) {
            return refused.spent() && refused.ballot() > 0;
        }
        return !(reply instanceof AcquireReply.Busy);
    }

    /**
     * Returns the step after a failure. Without patience, a failure ends the attempt. The locks are then not requested
     * one after the other. Such requests could meet the remains of this one, which are being undone, and mistake them
     * for those of another holder.
     */
    private Next afterFailure(AcquireReply reply) {
        boolean asksOnce = maxWaitNanos == 0;
        if (reply instanceof AcquireReply.Failed failed && (asksOnce || failed.kind() == FailureKind.PERMANENT)) {
            return new Fail(failed.kind() == FailureKind.UNKNOWN ? unknown(failed) : failed.error());
        } else if (asksOnce && reply instanceof AcquireReply.Refused refused) {
            return new Fail(
                    new StoreUnavailableException(what + " were refused: " + refused.reason(), refused.votes(), null));
        } else if (asksOnce && reply instanceof AcquireReply.Granted granted) {
            return new Fail(new StoreUnavailableException(
                    what + " were granted too slowly: less than " + timings.minimumValidityNanos() / 1_000_000
                            + " ms of validity were left; they were released",
                    granted.votes(),
                    null));
        }
        return new TakeOneByOne();
    }

    private AmbiguousAcquireException unknown(AcquireReply.Failed failed) {
        String message = what + ": the outcome of the request is unknown; it is being undone. Last: "
                + failed.error().getMessage();
        return new AmbiguousAcquireException(message, failed.votes(), failed.error());
    }
}
