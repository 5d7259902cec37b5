package io.leasehold.engine;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The queue of one lock in this process: its attempts in the order of arrival, and the grant that is held here. At most
 * the first attempt contends with the store. While the grant may be passed on to it, it does not contend. Pure.
 *
 * @param <C> the type of the attempts
 * @param <G> the type of the grants
 */
class LocalQueue<C, G> {

    private @Nullable C first;
    /** The attempts behind the first, or null: nearly every lock has none, for as long as it is held. */
    private @Nullable Deque<C> behind;

    private @Nullable G held;
    /** The grant whose hand-over the first attempt awaits. */
    private @Nullable G awaited;

    private long seenToken;
    /** Whether a thread settles this queue; that thread checks again before it stops. */
    private boolean settling;

    private boolean settleAgain;

    /** Adds the attempt. Returns whether it starts at once: it is alone, and the lock is not held here. */
    boolean enter(C attempt) {
        if (first == null) {
            first = attempt;
            return held == null;
        }
        if (behind == null) {
            behind = new ArrayDeque<>(2);
        }
        behind.addLast(attempt);
        return false;
    }

    void leave(C attempt) {
        Deque<C> others = behind;
        if (attempt == first) {
            first = others == null ? null : others.pollFirst();
        } else if (others != null) {
            others.remove(attempt);
        }
        if (others != null && others.isEmpty()) {
            behind = null;
        }
    }

    void granted(G grant, long lastToken) {
        held = grant;
        seenToken = Math.max(seenToken, lastToken);
    }

    void ended(G grant) {
        if (held == grant) {
            held = null;
        }
        if (awaited == grant) {
            awaited = null;
        }
    }

    /** Whether the queue has neither attempts nor a grant. */
    boolean isEmpty() {
        return first == null && held == null;
    }

    /** Returns the grant, if nothing else need be known of this queue until the next attempt enters it. */
    @Nullable
    G onlyHeld() {
        return first == null && awaited == null && !settling ? held : null;
    }

    /** Whether the caller settles the queue; if not, the thread that does so checks once more. */
    boolean beginSettling() {
        boolean isMine = !settling;
        settling = true;
        settleAgain = true;
        return isMine;
    }

    /**
     * Returns the first attempt, whose turn it may be; null if there is none. Later changes count for the next check.
     */
    @Nullable
    C nextContender() {
        settleAgain = false;
        return first;
    }

    /** Whether to check again; if the last check failed, the next change starts another. */
    boolean continueSettling(boolean settled) {
        settling = settled && settleAgain;
        return settling;
    }

    /** Whether the end of this grant's hand-over needs a timer: nothing waits for it yet. */
    boolean beginAwaiting(G grant) {
        boolean isFirst = awaited != grant;
        awaited = grant;
        return isFirst;
    }

    @Nullable
    C first() {
        return first;
    }

    @Nullable
    G held() {
        return held;
    }

    List<C> all() {
        if (first == null) {
            return List.of();
        }
        List<C> all = new ArrayList<>();
        all.add(first);
        if (behind != null) {
            all.addAll(behind);
        }
        return all;
    }

    /** Returns how many tokens to reserve: one, or, if others wait here, as many as a grant may be passed on. */
    int reserve() {
        return behind == null ? 1 : Timings.MAX_LEASES;
    }

    /** Returns the highest token of all grants that were held here. */
    long seenToken() {
        return seenToken;
    }
}
