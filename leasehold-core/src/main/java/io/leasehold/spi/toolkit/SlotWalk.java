package io.leasehold.spi.toolkit;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.NodeVote;
import io.leasehold.PermitCountException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The decisions of one request for a permit, which asks for the locks of the slots one after another. Pure.
 *
 * <p>The first answer other than busy ends the walk. So nothing is held, and no outcome is unknown, while the next slot
 * is asked. Each slot has an owner token of its own: with one for all, the end at one slot would not tell the others
 * apart. No owner token is used in two walks, since a store may still be ending it after it has answered busy.
 */
final class SlotWalk {

    /** The delay before the retry of a walk that had no time to ask every slot. */
    private static final long RETRY_NANOS = Duration.ofMillis(100).toNanos();

    /** The next step. */
    sealed interface Next {}

    /** Ask for this lock, without waiting, with this owner token. */
    record Ask(SlotLock lock, OwnerToken owner) implements Next {}

    /**
     * Answer the request.
     *
     * @param open what the store may keep under an owner token of this walk; null if it keeps nothing
     */
    record Answer(AcquireReply reply, @Nullable Ask open) implements Next {}

    private final LockName permits;
    private final String store;
    private final OwnerToken drawn;
    private final int first;
    private int busy;
    private @Nullable Holder soonest;
    private List<NodeVote> votes = List.of();

    /**
     * Creates a walk.
     *
     * @param permits a name with a count
     * @param store the description of the store, for messages
     * @param drawn fresh randomness, from which the owner tokens are made
     * @param first the slot to ask first; if it is none of these permits, the walk chooses one
     */
    SlotWalk(LockName permits, String store, OwnerToken drawn, int first) {
        this.permits = permits;
        this.store = store;
        this.drawn = drawn;
        // Otherwise all clients would begin with the same slot, and meet at every one.
        boolean isGiven = first >= 0 && first < permits.permitCount();
        this.first = isGiven ? first : Math.floorMod(drawn.hashCode(), permits.permitCount());
    }

    /** The first step. */
    Ask begin() {
        return ask();
    }

    private Ask ask() {
        SlotLock lock = new SlotLock(permits, (first + busy) % permits.permitCount());
        return new Ask(lock, lock.bound(drawn));
    }

    /** Decides the step after this answer to the last one. */
    Next answered(AcquireReply reply) {
        Ask asked = ask();
        if (reply instanceof AcquireReply.Busy other) {
            return busy(other);
        } else if (reply instanceof AcquireReply.Granted granted) {
            Grant got = granted.grant();
            Grant permit = new Grant(
                    got.owner(),
                    got.tokens(),
                    got.sentAtNanos(),
                    got.incarnation(),
                    asked.lock().slot());
            return new Answer(new AcquireReply.Granted(permit, granted.votes()), asked);
        } else if (reply instanceof AcquireReply.Refused refused) {
            return refused.spent() && refused.ballot() > 0
                    ? new Answer(refused, asked)
                    : new Answer(
                            new AcquireReply.Refused(
                                    refused.reason(), refused.retryNanos(), 0, refused.votes(), refused.spent()),
                            null);
        } else if (reply instanceof AcquireReply.Failed failed && failed.kind() != FailureKind.UNKNOWN) {
            return new Answer(new AcquireReply.Failed(failed.kind(), failed.error(), 0), null);
        } else if (reply instanceof AcquireReply.Failed) {
            return new Answer(reply, asked);
        }
        String message = "permits \"" + permits + "\" at " + store + ": a request that does not wait was queued";
        return new Answer(
                new AcquireReply.Failed(
                        FailureKind.UNKNOWN, new StoreUnavailableException(message, null), reply.ballot()),
                asked);
    }

    private Next busy(AcquireReply.Busy other) {
        Holder holder = other.holder();
        OptionalInt stated = holder == null ? OptionalInt.empty() : SlotLock.countOf(holder);
        if (stated.isPresent() && stated.getAsInt() != permits.permitCount()) {
            PermitCountException error =
                    PermitCountException.ofHolder(permits, store, permits.permitCount(), stated.getAsInt());
            return new Answer(new AcquireReply.Failed(FailureKind.PERMANENT, error, 0), null);
        }
        if (busy == 0 || endsBefore(holder, soonest)) {
            soonest = holder == null ? null : SlotLock.unmarked(holder);
            votes = other.votes();
        }
        busy++;
        // Without a ballot: nothing is left at the store, so the engine sends no undo.
        return busy < permits.permitCount() ? ask() : new Answer(new AcquireReply.Busy(soonest, 0, votes), null);
    }

    private static boolean endsBefore(@Nullable Holder one, @Nullable Holder other) {
        Duration left = one == null ? null : one.remainingTtl();
        Duration most = other == null ? null : other.remainingTtl();
        return left != null ? most == null || left.compareTo(most) < 0 : one != null && other == null;
    }

    /** Answers after the time limit, before the next slot is asked. */
    Answer outOfTime() {
        String reason = "only " + busy + " of " + permits.permitCount() + " slots could be asked in time";
        return new Answer(new AcquireReply.Refused(reason, RETRY_NANOS, 0, votes), null);
    }
}
