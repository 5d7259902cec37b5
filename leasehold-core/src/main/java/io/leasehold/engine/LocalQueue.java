package io.leasehold.engine;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The queue of one lock in this process: its attempts in the order in which they came, and the grant that is held here. At most the
 * first attempt contends with the store; while the grant may be passed on to it, it does not. Pure.
 *
 * @param <C> attempts
 * @param <G> grants
 */
final class LocalQueue<C, G> {

    private final Deque<C> line = new ArrayDeque<>(2);
    private @Nullable G held;
    /** The grant for whose hand-over the first attempt waits. */
    private @Nullable G awaited;

    private long seenToken;
    /** A thread settles this queue, and looks again before it stops. */
    private boolean settling;

    private boolean settleAgain;

    /** Takes the attempt in; whether it is to start at once, being alone with a lock that is not held here. */
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

    /** Nothing is left of it. */
    boolean isDeserted() {
        return line.isEmpty() && held == null;
    }

    /** Whether the caller is the one to settle it; if not, the thread that does looks once more. */
    boolean beginSettling() {
        boolean isMine = !settling;
        settling = true;
        settleAgain = true;
        return isMine;
    }

    /** The first attempt, whose turn it may be; null if there is none. What comes from now on is for the next look. */
    @Nullable
    C look() {
        settleAgain = false;
        return line.peekFirst();
    }

    /** Whether to look again; if the last look failed, the next change begins anew. */
    boolean goesOnSettling(boolean settled) {
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

    /** How many tokens to reserve: one, or as many as a grant may be passed on when others wait here. */
    int reserve() {
        return line.size() > 1 ? Timings.MAX_LEASES : 1;
    }

    /** The highest token that a grant held here has had. */
    long seenToken() {
        return seenToken;
    }
}
