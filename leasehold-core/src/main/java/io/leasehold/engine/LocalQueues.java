package io.leasehold.engine;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.spi.HandOver;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The {@link LocalQueue}s of a client, by name, so that a process is one contender however many threads want a lock.
 *
 * <p>A queue exists while an attempt waits in it or a grant of this process is held. It is guarded by itself; nothing else is locked
 * inside, and nothing is called.
 */
final class LocalQueues {

    private final TimerQueue timeline;
    private final ConcurrentMap<LockName, LocalQueue> queues = new ConcurrentHashMap<>();

    LocalQueues(TimerQueue timeline) {
        this.timeline = timeline;
    }

    /** Asks the queue of this name, if there is one. */
    private <R> R ask(LockName name, R otherwise, Function<LocalQueue, R> question) {
        LocalQueue queue = queues.get(name);
        while (queue != null) {
            synchronized (queue) {
                if (queues.get(name) == queue) {
                    R answer = question.apply(queue);
                    if (queue.isDeserted()) {
                        queues.remove(name);
                    }
                    return answer;
                }
            }
            queue = queues.get(name);
        }
        return otherwise;
    }

    /** As {@link #ask}, and makes the queue if there is none. */
    private boolean fill(LockName name, Function<LocalQueue, Boolean> change) {
        while (true) {
            LocalQueue queue = queues.computeIfAbsent(name, n -> new LocalQueue());
            synchronized (queue) {
                if (queues.get(name) == queue) {
                    return change.apply(queue);
                }
            }
        }
    }

    /** Takes the attempt in; it starts if it is first and nothing is held here. */
    void enter(LocalQueue.Contender attempt) {
        if (fill(attempt.name(), queue -> queue.enter(attempt))) {
            attempt.start();
        } else {
            attempt.enqueued();
            settle(attempt.name());
        }
    }

    /** The attempt is done. */
    void leave(LocalQueue.Contender attempt) {
        ask(attempt.name(), false, queue -> {
            queue.leave(attempt);
            return true;
        });
        settle(attempt.name());
    }

    /** This process holds the lock now; where it was granted with others at once, no attempt is in its queue. */
    void granted(LockName name, LocalQueue.Passable grant, long lastToken) {
        fill(name, queue -> {
            queue.granted(grant, lastToken);
            return true;
        });
    }

    /** The grant is over. */
    void ended(LockName name, LocalQueue.Passable grant) {
        ask(name, false, queue -> {
            queue.ended(grant);
            return true;
        });
        settle(name);
    }

    /** Starts the first attempt, unless it may still be handed the grant that is held. */
    private void settle(LockName name) {
        // A loop: where the store answers at once, one that starts is done at once and calls this again; nested, ten
        // thousand of them would exhaust the stack.
        boolean isMine = ask(name, false, LocalQueue::beginSettling);
        while (isMine) {
            boolean settled = false;
            try {
                settleOnce(name);
                settled = true;
            } finally {
                boolean done = settled;
                isMine = ask(name, false, queue -> queue.goesOnSettling(done));
            }
        }
    }

    private void settleOnce(LockName name) {
        LocalQueue.Contender first = this.<LocalQueue.@Nullable Contender>ask(name, null, LocalQueue::look);
        if (first == null) {
            return;
        }
        LocalQueue.Passable held = held(name);
        long waitNanos = held == null ? 0 : held.passableNanos(first.options());
        if (held == null || waitNanos <= 0) {
            first.start();
        } else if (ask(name, false, queue -> queue.beginAwaiting(held))) {
            timeline.schedule(waitNanos, () -> settle(name));
        }
    }

    /** Wakes the contender for this name, if there is one. */
    void wake(LockName name) {
        LocalQueue.Contender first = first(name);
        if (first != null) {
            first.woken();
        }
    }

    /** Tells the contender for this name, if there is one, that the store has handed the lock over. */
    void handedOver(HandOver handOver) {
        LocalQueue.Contender first = first(handOver.name());
        if (first != null) {
            first.handedOver(handOver);
        }
    }

    /** Wakes all contenders. */
    void wakeAll() {
        queues.keySet().forEach(this::wake);
    }

    /** The attempt that would be next. */
    LocalQueue.@Nullable Contender first(LockName name) {
        return this.<LocalQueue.@Nullable Contender>ask(name, null, LocalQueue::first);
    }

    /** The grant of this name that this process holds. */
    LocalQueue.@Nullable Passable held(LockName name) {
        return this.<LocalQueue.@Nullable Passable>ask(name, null, LocalQueue::held);
    }

    /** This process as the holder, if it is. */
    @Nullable
    Holder localHolder(LockName name) {
        LocalQueue.Passable held = held(name);
        return held == null ? null : held.asHolder();
    }

    /** How many tokens the next request for this name reserves. */
    int reserve(LockName name) {
        return ask(name, 1, LocalQueue::reserve);
    }

    long seenToken(LockName name) {
        return ask(name, 0L, LocalQueue::seenToken);
    }

    boolean isEmpty() {
        return queues.isEmpty();
    }

    List<LocalQueue.Contender> all() {
        List<LocalQueue.Contender> all = new ArrayList<>();
        for (LockName name : queues.keySet()) {
            all.addAll(ask(name, List.of(), LocalQueue::all));
        }
        return all;
    }
}
