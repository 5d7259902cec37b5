package io.leasehold.engine;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Holder;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.toolkit.Repetition;
import org.jspecify.annotations.Nullable;

/**
 * Decides on the replies to an attempt to resume an exported lease. The same owner token asks until the store has
 * answered, the patience is over or the claim of the ticket is over. Nothing is ever undone: an undo that arrives at the
 * store before a slow request would leave that request the ticket. Pure: replies and the time come in, decisions go out.
 */
final class ResumeMachine {

    private static final long FIRST_PAUSE_NANOS = 10_000_000L;
    private static final long MAX_PAUSE_NANOS = 1_000_000_000L;

    /** A decision on a reply. */
    sealed interface Decision {}

    /** The lease begins. */
    record Hold(Grant grant) implements Decision {}

    /** The store does not keep the lock for the ticket. */
    record Refuse(@Nullable Holder holder) implements Decision {}

    /** Send the request again, after this time. */
    record Again(long afterNanos) implements Decision {}

    /** The attempt has failed. */
    record Fail(LockStoreException error) implements Decision {}

    private final String what;
    private final Timings timings;
    private final long untilAtNanos;
    private int failures;
    private boolean unknown;
    private long ballot;

    /**
     * Creates an attempt before its first request.
     *
     * @param what the ticket and the store, for messages
     * @param claimNanos the claim of the ticket: a ticket that exists now is over after it
     */
    ResumeMachine(String what, Timings timings, long maxWaitNanos, long claimNanos, long startAtNanos) {
        this.what = what;
        this.timings = timings;
        this.untilAtNanos = startAtNanos + Math.min(Math.min(maxWaitNanos, claimNanos), Long.MAX_VALUE / 4);
    }

    /**
     * Continues an earlier attempt with its owner token, which may have the lock.
     *
     * @param ballotBefore the highest fencing token that it has proposed; zero if the store chooses the token
     */
    void continues(long ballotBefore) {
        ballot = Math.max(ballot, ballotBefore);
        unknown = true;
    }

    Decision on(AcquireReply reply, long nowNanos) {
        ballot = Math.max(ballot, reply.ballot());
        if (reply instanceof AcquireReply.Granted granted) {
            return granted(granted.grant(), nowNanos);
        } else if (reply instanceof AcquireReply.Refused refused) {
            // A grant that replicas did not acknowledge counts as unknown.
            unknown |= refused.spent();
            String message = what + ": " + refused.reason();
            return again(refused.retryNanos(), new StoreUnavailableException(message, refused.votes(), null), nowNanos);
        } else if (reply instanceof AcquireReply.Failed failed) {
            unknown |= failed.kind() == FailureKind.UNKNOWN;
            return failed.kind() == FailureKind.PERMANENT ? fail(failed.error()) : again(0, failed.error(), nowNanos);
        }
        unknown = false;
        return new Refuse(reply instanceof AcquireReply.Busy busy ? busy.holder() : null);
    }

    /** The owner token has the lock. If the answer was slow, another request extends the hold before it is shown. */
    private Decision granted(Grant grant, long nowNanos) {
        long leftNanos = grant.sentAtNanos() + timings.validityNanos() - nowNanos;
        if (leftNanos >= Math.max(1, timings.minimumValidityNanos())) {
            unknown = false;
            return new Hold(grant);
        }
        unknown = true;
        return again(
                0,
                new StoreUnavailableException(
                        what + ": the answer came so late that too little validity was left", null),
                nowNanos);
    }

    private Decision again(long retryNanos, LockStoreException why, long nowNanos) {
        long leftNanos = untilAtNanos - nowNanos;
        if (leftNanos <= 0) {
            return fail(why);
        }
        long pauseNanos = Repetition.pauseNanos(FIRST_PAUSE_NANOS, MAX_PAUSE_NANOS, failures++);
        return new Again(Math.min(leftNanos, Math.max(retryNanos, pauseNanos)));
    }

    private Decision fail(LockStoreException why) {
        return new Fail(
                unknown
                        ? new AmbiguousAcquireException(
                                "the outcome of the attempt to resume " + what
                                        + " is unknown; retry with the same ticket and client, or wait for one ttl: "
                                        + why.getMessage(),
                                why.votes(),
                                why)
                        : why);
    }

    /** Whether the store may have swapped the ticket for the owner token of the attempt, without an answer. */
    boolean isUnknown() {
        return unknown;
    }

    /** The highest fencing token that was proposed under the owner token. */
    long ballot() {
        return ballot;
    }
}
