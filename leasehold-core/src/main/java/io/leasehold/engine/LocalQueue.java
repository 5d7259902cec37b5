package io.leasehold.engine;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.spi.HandOver;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The queue of one lock in this process: its attempts in the order in which they came, and the grant that is held here. At most the
 * first attempt contends with the store; while the grant may be passed on to it, it does not. Pure.
 */
final class LocalQueue {

    /** An attempt, as the queue sees it. */
    interface Contender {

        LockName name();

        LockOptions options();

        /** Contends with the store; may be called more than once. */
        void start();

        /** Waits in the queue; with no patience, that is already its end. */
        void enqueued();

        /** A lease of the grant that this process holds is offered. */
        AcquireMachine.Offer handOver(ActiveLease lease);

        /** The lock may be free. */
        void woken();

        /** The store has given the lock to an attempt, perhaps to this one. */
        void handedOver(HandOver handOver);

        void clientClosing();
    }

    /** A grant that is held here. */
    interface Passable {

        /** For how long an attempt with these options may still hope for a hand-over; zero or less if it may not. */
        long passableNanos(LockOptions wanted);

        void on(GrantEvent event);

        /** Whether this thread opened the current lease, which lasts until it is released, and is alone with it. */
        boolean waitsForEver(Thread thread);

        /** The current lease, for people. */
        Holder asHolder();
    }

    private final Deque<Contender> line = new ArrayDeque<>(2);
    private @Nullable Passable held;
    /** The grant for whose hand-over the first attempt waits. */
    private @Nullable Passable awaited;

    private long seenToken;
    /** A thread settles this queue, and looks again before it stops. */
    private boolean settling;

    private boolean settleAgain;

    /** Takes the attempt in; whether it is to start at once, being alone with a lock that is not held here. */
    boolean enter(Contender attempt) {
        line.addLast(attempt);
        return line.size() == 1 && held == null;
    }

    void leave(Contender attempt) {
        line.remove(attempt);
    }

    void granted(Passable grant, long lastToken) {
        held = grant;
        seenToken = Math.max(seenToken, lastToken);
    }

    void ended(Passable grant) {
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
    Contender look() {
        settleAgain = false;
        return line.peekFirst();
    }

    /** Whether to look again; if the last look failed, the next change begins anew. */
    boolean goesOnSettling(boolean settled) {
        settling = settled && settleAgain;
        return settling;
    }

    /** Whether the end of this grant's hand-over needs a timer: nothing waits for it yet. */
    boolean beginAwaiting(Passable grant) {
        boolean isFirst = awaited != grant;
        awaited = grant;
        return isFirst;
    }

    @Nullable
    Contender first() {
        return line.peekFirst();
    }

    @Nullable
    Passable held() {
        return held;
    }

    List<Contender> all() {
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
