package io.leasehold.engine;

import java.util.ArrayDeque;
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
final class LocalQueue<C, G> {

    private final Deque<C> line = new ArrayDeque<>(2);
    private @Nullable G held;
    /** The grant whose hand-over the first attempt awaits. */
    private @Nullable G awaited;

    private long seenToken;
    /** Whether a thread settles this queue; that thread checks again before it stops. */
    private boolean settling;

    private boolean settleAgain;

    /** Adds the attempt. Returns whether it starts at once: it is alone, and the lock is not held here. */
    boolean enter(C attempt) {
        line.addLast(attempt);
        return line.size() == 1 && held == null;
    }

    void leave(C attempt) {
        line.remove(attempt);
    }

    void granted(G grant, long lastToken) {
        held = grant;
        seenToken = Math.max(seenToken, lastToken);
    }

    void ended(G grant) {
        if (held == grant) {
            held = null;
        }
    }

    /** Whether the queue has neither attempts nor a grant. */
    boolean isEmpty() {
        return line.isEmpty() && held == null;
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
        return line.peekFirst();
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
        return line.peekFirst();
    }

    @Nullable
    G held() {
        return held;
    }

    List<C> all() {
        return List.copyOf(line);
    }

    /** Returns how many tokens to reserve: one, or, if others wait here, as many as a grant may be passed on. */
    int reserve() {
        return line.size() > 1 ? Timings.MAX_LEASES : 1;
    }

    /** Returns the highest token of all grants that were held here. */
    long seenToken() {
        return seenToken;
    }
}
