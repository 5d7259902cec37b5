package io.leasehold.spi.toolkit;

import io.leasehold.Guarantee;
import io.leasehold.Guarantees;
import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The place of one attempt in a store's queue, whose first entry holds the lock: the knowledge and the decisions of the
 * attempt's process.
 *
 * <p>The store creates, reads and removes the entry, and reports its findings to this class. The rules:
 *
 * <ul>
 *   <li>An ended attempt receives nothing more, even if an answer is still on its way.
 *   <li>An attempt holds with the entry that was granted, and with no later one: once the entry is gone, the hold is
 *       gone, too.
 *   <li>A recheck is answered from memory only while the previous entry is watched.
 * </ul>
 *
 * <p>It uses no clock and no thread, and makes no calls. Safe for use by any thread: each call is one atomic step.
 *
 * @param <E> the identity of an entry; no two created entries are equal
 */
public final class QueuePlace<E> {

    /** The promises of a store whose quorum keeps the queues. */
    public static final Guarantees GUARANTEES = new Guarantees(
            Guarantee.Exclusion.BY_STORE,
            Guarantee.Fencing.INCREASING,
            Guarantee.Queueing.FIFO,
            Guarantee.Scope.NETWORK);

    private static final int MAX_LOOKS = 8;
    private static final long MIN_PATIENCE_NANOS = Duration.ofSeconds(3).toNanos();
    private static final long MAX_PATIENCE_NANOS = Duration.ofDays(1).toNanos();

    /** The meaning of a grant for this place. */
    public enum Turn {
        /** The attempt holds the lock from now on. */
        BEGUN,
        /** The attempt already held the lock. */
        HELD,
        /** The attempt was ended, or its entry is gone: the grant is not reported. */
        OVER
    }

    private final LockName name;
    private final String store;
    private @Nullable E entry;
    private boolean awaiting;
    private boolean held;
    private boolean ended;
    private @Nullable Holder first;
    private long queuedAtNanos;

    /**
     * Creates a place without an entry.
     *
     * @param store the description of the store, for messages
     */
    public QueuePlace(LockName name, String store) {
        this.name = name;
        this.store = store;
    }

    /**
     * The time at which an inactive attempt is forgotten. An attempt waits for its answer, and a waiter asks again
     * within its recheck.
     */
    public static long forgottenAtNanos(AcquireRequest request, long nowNanos) {
        long limitNanos = Math.min(request.timeoutNanos(), MAX_PATIENCE_NANOS);
        long recheckNanos = Math.min(request.recheckNanos(), MAX_PATIENCE_NANOS);
        return nowNanos + MIN_PATIENCE_NANOS + limitNanos + recheckNanos * 3 / 2;
    }

    // ---- requests

    /**
     * Answers a recheck from memory while the watch is active: a request to the store would return nothing new. A
     * waiter that asks before its recheck is due has received a signal, and must not be delayed.
     *
     * @param sure whether the watch and the entry are kept, as far as this process can tell
     */
    public synchronized Optional<AcquireReply> recheck(AcquireRequest request, boolean sure, long nowNanos) {
        boolean told = request.isWaiting()
                && nowNanos - queuedAtNanos >= request.recheckNanos() / 2
                && !ended
                && entry != null
                && awaiting
                && sure;
        return told ? Optional.of(queued(first, nowNanos)) : Optional.empty();
    }

    /**
     * Answers a request without a further read of the queue after this many reads, if the attempt was ended, or its
     * entry does not last; otherwise empty.
     */
    public synchronized Optional<AcquireReply> givenUp(int looks) {
        if (ended) {
            return Optional.of(givenUp("the attempt was taken back"));
        }
        return looks < MAX_LOOKS
                ? Optional.empty()
                : Optional.of(givenUp("its entry in the queue was removed again and again"));
    }

    /** Answers a request that cannot be granted, for this reason. */
    public AcquireReply givenUp(String why) {
        String message = "acquire of \"" + name + "\" at " + store + " was given up: " + why;
        return new AcquireReply.Failed(FailureKind.NO_EFFECT, new StoreUnavailableException(message, null), 0);
    }

    /** The entry, or null if this process knows of none. */
    public synchronized @Nullable E entry() {
        return entry;
    }

    /** Records that the store has created the entry. */
    public synchronized void made(E made) {
        entry = made;
    }

    /** Records that the entry is gone, and with it the hold and the watch. */
    public synchronized void gone() {
        entry = null;
        held = false;
        awaiting = false;
    }

    // ---- waiting

    /** Records that the entry before this one is watched from now on. */
    public synchronized void await() {
        awaiting = true;
    }

    /** Records that nothing is watched any more. */
    public synchronized void awaitNothing() {
        awaiting = false;
    }

    /**
     * Records that the watch has reported a change, or has ended.
     *
     * @return whether to ask again
     */
    public synchronized boolean awaitedIsOver() {
        boolean asks = awaiting && !ended;
        awaiting = false;
        return asks;
    }

    /** Whether an entry is watched for an attempt that has not ended. */
    public synchronized boolean isAwaiting() {
        return awaiting && !ended;
    }

    /** Answers a request that waits behind this holder. */
    public synchronized AcquireReply queued(@Nullable Holder holder, long nowNanos) {
        first = holder;
        queuedAtNanos = nowNanos;
        return new AcquireReply.Queued(holder, 0, List.of());
    }

    // ---- holding

    /** Records that the store has reported this entry as the first. */
    public synchronized Turn granted(E shown) {
        if (ended || !shown.equals(entry)) {
            return Turn.OVER;
        }
        Turn turn = held ? Turn.HELD : Turn.BEGUN;
        held = true;
        awaiting = false;
        return turn;
    }

    /** The entry with which the attempt holds the lock, or null. */
    public synchronized @Nullable E held() {
        return held && !ended ? entry : null;
    }

    /** Whether the attempt holds the lock with this entry. */
    public synchronized boolean isHeldWith(@Nullable E one) {
        return one != null && one.equals(held());
    }

    /**
     * Records that the entry was removed by force.
     *
     * @return whether the attempt held the lock with it, and must be notified
     */
    public synchronized boolean taken(E one) {
        boolean tells = isHeldWith(one);
        if (tells) {
            gone();
        }
        return tells;
    }

    // ---- ending

    /**
     * Ends the attempt; its entry must still be removed.
     *
     * @return whether the attempt held the lock until now
     */
    public synchronized boolean end() {
        boolean was = held && !ended;
        ended = true;
        return was;
    }

    /** Whether the attempt was ended. */
    public synchronized boolean isEnded() {
        return ended;
    }

    /**
     * Records that the removal was answered, and nothing of the entry is left.
     *
     * @param deleted whether the entry was there
     * @return whether the attempt held the lock until now
     */
    public synchronized boolean removed(boolean deleted) {
        boolean was = held && deleted;
        gone();
        return was;
    }
}
