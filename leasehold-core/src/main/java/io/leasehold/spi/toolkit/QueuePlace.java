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
 * The place of one attempt in a queue at a store whose first entry holds the lock: what the attempt's process knows of it, and
 * decides from that.
 *
 * <p>The store makes, looks at and removes the entry, and reports here what it has found. Its rules:
 *
 * <ul>
 *   <li>An attempt that was ended gets nothing more, whatever is still on its way to it.
 *   <li>It holds with the entry that was granted, and with no later one: once the entry is gone, so is the hold.
 *   <li>A recheck is answered from memory only while something watches what is before the entry.
 * </ul>
 *
 * <p>Knows no clock, no thread and no call of its own. Safe for use by any thread: each call is one step.
 *
 * @param <E> tells one entry from another; no two that were made are equal
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
        /** It holds from now on. */
        BEGUN,
        /** It has held already. */
        HELD,
        /** It was ended, or its entry is gone: the grant is not told. */
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
     * A place without an entry.
     *
     * @param store the description of the store, for messages
     */
    public QueuePlace(LockName name, String store) {
        this.name = name;
        this.store = store;
    }

    /** The time after which an attempt that was not heard of again is forgotten: it waits for its answer, and a waiter asks again within its recheck. */
    public static long forgottenAtNanos(AcquireRequest request, long nowNanos) {
        long limitNanos = Math.min(request.timeoutNanos(), MAX_PATIENCE_NANOS);
        long recheckNanos = Math.min(request.recheckNanos(), MAX_PATIENCE_NANOS);
        return nowNanos + MIN_PATIENCE_NANOS + limitNanos + recheckNanos * 3 / 2;
    }

    // ---- asking

    /**
     * The answer to a recheck that the watch gives: asking the store would tell nothing new. A waiter that asks sooner than for a
     * recheck was told something, and is not put off.
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

    /** The answer to a request that is not worth this look after so many, or empty: it was ended, or its entry does not last. */
    public synchronized Optional<AcquireReply> givenUp(int looks) {
        if (ended) {
            return Optional.of(givenUp("the attempt was taken back"));
        }
        return looks < MAX_LOOKS
                ? Optional.empty()
                : Optional.of(givenUp("its entry in the queue was removed again and again"));
    }

    /** The answer to a request that can be granted nothing, for this reason. */
    public AcquireReply givenUp(String why) {
        String message = "acquire of \"" + name + "\" at " + store + " was given up: " + why;
        return new AcquireReply.Failed(FailureKind.NO_EFFECT, new StoreUnavailableException(message, null), 0);
    }

    /** The entry, or null if there is none that this process believes in. */
    public synchronized @Nullable E entry() {
        return entry;
    }

    /** The store has the entry. */
    public synchronized void made(E made) {
        entry = made;
    }

    /** The entry is gone, and with it what was held and what was awaited. */
    public synchronized void gone() {
        entry = null;
        held = false;
        awaiting = false;
    }

    // ---- waiting

    /** Notes that the entry before this one is watched from now on. */
    public synchronized void await() {
        awaiting = true;
    }

    /** Nothing is watched any more. */
    public synchronized void awaitNothing() {
        awaiting = false;
    }

    /**
     * The watch has told something, or has ended.
     *
     * @return whether to ask again
     */
    public synchronized boolean awaitedIsOver() {
        boolean asks = awaiting && !ended;
        awaiting = false;
        return asks;
    }

    /** Whether something is watched for an attempt that goes on. */
    public synchronized boolean isAwaiting() {
        return awaiting && !ended;
    }

    /** The answer to a request that waits behind this holder. */
    public synchronized AcquireReply queued(@Nullable Holder holder, long nowNanos) {
        first = holder;
        queuedAtNanos = nowNanos;
        return new AcquireReply.Queued(holder, 0, List.of());
    }

    // ---- holding

    /** The store has shown this entry to be the first. */
    public synchronized Turn granted(E shown) {
        if (ended || !shown.equals(entry)) {
            return Turn.OVER;
        }
        Turn turn = held ? Turn.HELD : Turn.BEGUN;
        held = true;
        awaiting = false;
        return turn;
    }

    /** The entry that it holds with, or null. */
    public synchronized @Nullable E held() {
        return held && !ended ? entry : null;
    }

    /** Whether it holds with this entry. */
    public synchronized boolean isHeldWith(@Nullable E one) {
        return one != null && one.equals(held());
    }

    /**
     * The entry was taken away.
     *
     * @return whether it held with it, and is to be told
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
     * Ends the attempt; its entry is still to be removed.
     *
     * @return whether it held until now
     */
    public synchronized boolean end() {
        boolean was = held && !ended;
        ended = true;
        return was;
    }

    /** Whether it was ended. */
    public synchronized boolean isEnded() {
        return ended;
    }

    /**
     * The removal was answered, and nothing of it is left.
     *
     * @param deleted whether the entry was there
     * @return whether it held until now
     */
    public synchronized boolean removed(boolean deleted) {
        boolean was = held && deleted;
        gone();
        return was;
    }
}
