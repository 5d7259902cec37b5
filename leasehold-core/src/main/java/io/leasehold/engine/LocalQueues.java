package io.leasehold.engine;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.spi.HandOver;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * The local queues: of each name's waiters at most the first contends with the store, so that a process is one contender
 * however many threads want the lock; and while this process holds the lock and may pass it on, none does.
 *
 * <p>A desk exists while somebody stands at it or a grant of this process is held; the map's per-key atomicity guards it.
 * Nothing else is locked inside.
 */
final class LocalQueues {

    private final TimerQueue timeline;
    private final ConcurrentMap<LockName, Desk> desks = new ConcurrentHashMap<>();

    LocalQueues(TimerQueue timeline) {
        this.timeline = timeline;
    }

    private static final class Desk {
        private final Deque<AcquireAttempt> line = new ArrayDeque<>(2);
        private @Nullable HeldGrant held;
        /** The grant for whose hand-over the first waiter is being kept back. */
        private @Nullable HeldGrant keptBackFor;

        private long seenToken;
        /** Somebody is settling this desk, and looks again before it stops. */
        private boolean settling;

        private boolean settleAgain;

        boolean isDeserted() {
            return line.isEmpty() && held == null;
        }
    }

    /** Lets the waiter stand in line, and start if it is first and nothing is held here. */
    void enter(AcquireAttempt waiter) {
        Desk entered = desks.compute(waiter.name(), (name, desk) -> {
            Desk at = desk == null ? new Desk() : desk;
            at.line.addLast(waiter);
            return at;
        });
        if (isAlone(entered, waiter)) {
            waiter.start();
        } else {
            waiter.enqueued();
            settle(waiter.name());
        }
    }

    private boolean isAlone(Desk entered, AcquireAttempt waiter) {
        boolean[] alone = new boolean[1];
        desks.computeIfPresent(waiter.name(), (name, desk) -> {
            alone[0] = desk == entered && desk.line.peekFirst() == waiter && desk.held == null;
            return desk;
        });
        return alone[0];
    }

    /** The waiter is done. */
    void leave(AcquireAttempt waiter) {
        desks.computeIfPresent(waiter.name(), (name, desk) -> {
            desk.line.remove(waiter);
            return desk.isDeserted() ? null : desk;
        });
        settle(waiter.name());
    }

    /** This process holds the lock now; where it was granted with others at once, nobody stands at its desk. */
    void granted(LockName name, HeldGrant grant, long lastToken) {
        desks.compute(name, (n, desk) -> {
            Desk at = desk == null ? new Desk() : desk;
            at.held = grant;
            at.seenToken = Math.max(at.seenToken, lastToken);
            return at;
        });
    }

    /** The grant is over. */
    void ended(LockName name, HeldGrant grant) {
        desks.computeIfPresent(name, (n, desk) -> {
            if (desk.held == grant) {
                desk.held = null;
            }
            return desk.isDeserted() ? null : desk;
        });
        settle(name);
    }

    /** Starts the first waiter, unless it may still be handed the grant that is held. */
    private void settle(LockName name) {
        // A loop: where the store answers at once, one that starts is done at once and calls this again; nested, ten
        // thousand of them would exhaust the stack.
        boolean[] mine = new boolean[1];
        desks.computeIfPresent(name, (n, desk) -> {
            mine[0] = !desk.settling;
            desk.settling = true;
            desk.settleAgain = true;
            return desk;
        });
        while (mine[0]) {
            boolean settled = false;
            try {
                settleOnce(name);
                settled = true;
            } finally {
                mine[0] = mustSettleAgain(name, settled);
            }
        }
    }

    private boolean mustSettleAgain(LockName name, boolean settled) {
        boolean[] again = new boolean[1];
        desks.computeIfPresent(name, (n, desk) -> {
            again[0] = settled && desk.settleAgain;
            desk.settling = again[0];
            return desk;
        });
        return again[0];
    }

    private void settleOnce(LockName name) {
        AcquireAttempt[] first = new AcquireAttempt[1];
        HeldGrant[] held = new HeldGrant[1];
        desks.computeIfPresent(name, (n, desk) -> {
            desk.settleAgain = false;
            first[0] = desk.line.peekFirst();
            held[0] = desk.held;
            return desk;
        });
        if (first[0] == null) {
            return;
        }
        long waitNanos = held[0] == null ? 0 : held[0].handOverNanos(first[0].options());
        if (waitNanos <= 0) {
            first[0].start();
        } else if (keepBack(name, held[0])) {
            timeline.schedule(waitNanos, () -> settle(name));
        }
    }

    /** Whether nobody is being kept back for this grant yet: then its end of hand-over needs a timer. */
    private boolean keepBack(LockName name, HeldGrant grant) {
        boolean[] first = new boolean[1];
        desks.computeIfPresent(name, (n, desk) -> {
            first[0] = desk.keptBackFor != grant;
            desk.keptBackFor = grant;
            return desk;
        });
        return first[0];
    }

    /** Wakes the contender for this name, if there is one. */
    void wake(LockName name) {
        AcquireAttempt first = firstInLine(name);
        if (first != null) {
            first.woken();
        }
    }

    /** Tells the contender for this name, if there is one, that somebody was given the lock. */
    void handedOver(HandOver handOver) {
        AcquireAttempt first = firstInLine(handOver.name());
        if (first != null) {
            first.handedOver(handOver);
        }
    }

    /** Wakes all contenders. */
    void wakeAll() {
        desks.keySet().forEach(this::wake);
    }

    /** The waiter that would be next. */
    @Nullable
    AcquireAttempt firstInLine(LockName name) {
        AcquireAttempt[] first = new AcquireAttempt[1];
        desks.computeIfPresent(name, (n, desk) -> {
            first[0] = desk.line.peekFirst();
            return desk;
        });
        return first[0];
    }

    /** The grant of this name that this process holds. */
    @Nullable
    HeldGrant held(LockName name) {
        HeldGrant[] held = new HeldGrant[1];
        desks.computeIfPresent(name, (n, desk) -> {
            held[0] = desk.held;
            return desk;
        });
        return held[0];
    }

    /** This process as the holder, if it is. */
    @Nullable
    Holder localHolder(LockName name) {
        HeldGrant held = held(name);
        return held == null ? null : held.asHolder();
    }

    /** How many tokens to reserve: one, or as many as a grant may be passed on when others wait here. */
    int reserve(LockName name) {
        boolean[] others = new boolean[1];
        desks.computeIfPresent(name, (n, desk) -> {
            others[0] = desk.line.size() > 1;
            return desk;
        });
        return others[0] ? Timings.MAX_LEASES : 1;
    }

    long seenToken(LockName name) {
        long[] seen = new long[1];
        desks.computeIfPresent(name, (n, desk) -> {
            seen[0] = desk.seenToken;
            return desk;
        });
        return seen[0];
    }

    boolean isEmpty() {
        return desks.isEmpty();
    }

    List<AcquireAttempt> all() {
        List<AcquireAttempt> all = new ArrayList<>();
        for (LockName name : desks.keySet()) {
            desks.computeIfPresent(name, (n, desk) -> {
                all.addAll(desk.line);
                return desk;
            });
        }
        return all;
    }
}
