package io.leasehold.engine;

import io.leasehold.LockName;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * The local queues: of each name's waiters only the first contends with the store, so that a process is one contender
 * however many threads want the lock.
 *
 * <p>A desk exists while somebody stands at it; the map's per-key atomicity guards it.
 */
final class NameDesks {

    private final ConcurrentMap<LockName, Desk> desks = new ConcurrentHashMap<>();

    private static final class Desk {
        private final Deque<Waiter> line = new ArrayDeque<>(2);
        private long seenToken;
    }

    /** Lets the waiter stand in line, and start if it is first. */
    void enter(Waiter waiter) {
        Desk entered = desks.compute(waiter.name(), (name, desk) -> {
            Desk at = desk == null ? new Desk() : desk;
            at.line.addLast(waiter);
            return at;
        });
        if (first(waiter.name()) == waiter && entered != null) {
            waiter.start();
        } else {
            waiter.enqueued();
        }
    }

    /** The waiter is done; the next one starts. */
    void leave(Waiter waiter) {
        Waiter[] next = new Waiter[1];
        desks.computeIfPresent(waiter.name(), (name, desk) -> {
            boolean wasFirst = desk.line.peekFirst() == waiter;
            desk.line.remove(waiter);
            if (wasFirst) {
                next[0] = desk.line.peekFirst();
            }
            return desk.line.isEmpty() ? null : desk;
        });
        if (next[0] != null) {
            next[0].start();
        }
    }

    /** Wakes the contender for this name, if there is one. */
    void wake(LockName name) {
        Waiter first = first(name);
        if (first != null) {
            first.woken();
        }
    }

    /** Wakes all contenders. */
    void wakeAll() {
        desks.keySet().forEach(this::wake);
    }

    private @Nullable Waiter first(LockName name) {
        Waiter[] first = new Waiter[1];
        desks.computeIfPresent(name, (n, desk) -> {
            first[0] = desk.line.peekFirst();
            return desk;
        });
        return first[0];
    }

    long seenToken(LockName name) {
        Desk desk = desks.get(name);
        return desk == null ? 0 : desk.seenToken;
    }

    void saw(LockName name, long token) {
        desks.computeIfPresent(name, (n, desk) -> {
            desk.seenToken = Math.max(desk.seenToken, token);
            return desk;
        });
    }

    boolean isEmpty() {
        return desks.isEmpty();
    }

    List<Waiter> all() {
        List<Waiter> all = new ArrayList<>();
        for (LockName name : desks.keySet()) {
            desks.computeIfPresent(name, (n, desk) -> {
                all.addAll(desk.line);
                return desk;
            });
        }
        return all;
    }
}
