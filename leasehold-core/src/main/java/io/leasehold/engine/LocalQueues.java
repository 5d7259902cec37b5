package io.leasehold.engine;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.spi.Claim;
import io.leasehold.spi.HandOver;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The {@link LocalQueue}s of a client, by name. They make a process one contender, however many threads want a lock.
 *
 * <p>A queue exists while an attempt waits in it, or this process holds a grant. It is used only within the steps of
 * the map, which are atomic. No lock is taken inside, and nothing else is called.
 */
final class LocalQueues {

    /** An attempt, as seen by the queue. */
    interface Contender {

        LockName name();

        LockOptions options();

        /**
         * Processes an event: the attempt waits in the queue, it may contend with the store (more than once), or the
         * lock may be free.
         */
        void on(AcquireMachine.Event event);

        /**
         * Whether the attempt contends without its turn: it asks the store once, and other attempts of this process do
         * not prevent its success.
         */
        default boolean startsAtOnce() {
            return false;
        }

        /** Offers a lease of the grant that this process holds. */
        AcquireMachine.Offer handOver(ActiveLease lease);

        /** Reports that the store has given the lock to an attempt, perhaps to this one. */
        void handedOver(HandOver handOver);

        /** Offers a claim, perhaps of another attempt. Returns whether the lease of this attempt has begun from it. */
        boolean claimed(Claim claim);

        void clientClosing();
    }

    /** The knowledge about one name. */
    sealed interface Queue permits Line, Passable {}

    /** A queue with attempts, or one that is being settled. */
    private static final class Line extends LocalQueue<Contender, Passable> implements Queue {

        static Line of(Queue queue) {
            if (queue instanceof Line line) {
                return line;
            }
            Passable held = (Passable) queue;
            Line line = new Line();
            line.granted(held, held.lastToken());
            return line;
        }

        /** Returns the least that tells the same: null if the queue is empty, the grant if no attempt waits for it. */
        @Nullable
        Queue least() {
            Passable only = onlyHeld();
            if (only != null && only.lastToken() == seenToken()) {
                return only;
            }
            return isEmpty() ? null : this;
        }
    }

    /** A grant that is held here. It is itself the queue of its name while no attempt waits, as for nearly all names. */
    non-sealed interface Passable extends Queue {

        /**
         * Returns how long a hand-over to an attempt with these options is still possible; zero or less if it is not.
         */
        long passableNanos(LockOptions wanted);

        void on(GrantMachine.Event event);

        /**
         * Whether this thread opened the current lease, which lasts until it is released, and no other thread has used
         * it.
         */
        boolean blocksForever(Thread thread);

        /** Returns the current lease as a holder, for messages. */
        Holder asHolder();

        /** Returns the highest token that a lease of the grant may have. Called inside a step: takes no lock. */
        long lastToken();
    }

    private final TimerQueue timeline;
    private final ConcurrentMap<LockName, Queue> queues = new ConcurrentHashMap<>();

    LocalQueues(TimerQueue timeline) {
        this.timeline = timeline;
    }

    private interface Question<R> {
        @Nullable
        R of(Line queue);
    }

    /** Asks the queue of this name, and removes the queue if it is then empty. Returns null if no queue exists. */
    private <R> @Nullable R find(LockName name, Question<R> question) {
        Step<R> step = new Step<>(question);
        queues.computeIfPresent(name, step);
        return step.answer;
    }

    /** A step of the map, with its answer: one object, since every acquire and release asks several times. */
    private static final class Step<R> implements BiFunction<LockName, Queue, @Nullable Queue> {
        private final Question<R> question;
        private @Nullable R answer;

        Step(Question<R> question) {
            this.question = question;
        }

        @Override
        public @Nullable Queue apply(LockName name, Queue queue) {
            Line line = Line.of(queue);
            answer = question.of(line);
            return line.least();
        }
    }

    /** Asks the queue of this name; returns the default if no queue exists. */
    private <R> R ask(LockName name, R otherwise, Question<R> question) {
        R answer = find(name, question);
        return answer == null ? otherwise : answer;
    }

    /** Changes the queue of this name; creates the queue if none exists. */
    private boolean fill(LockName name, Predicate<Line> change) {
        AtomicBoolean answer = new AtomicBoolean();
        queues.compute(name, (same, known) -> {
            Line line = known == null ? new Line() : Line.of(known);
            answer.set(change.test(line));
            return line.least();
        });
        return answer.get();
    }

    /** Adds the attempt, which starts if it is the first and nothing is held here. */
    void enter(Contender attempt) {
        boolean isFirst = fill(attempt.name(), queue -> queue.enter(attempt));
        if (isFirst || attempt.startsAtOnce() || expectsAnotherCount(attempt)) {
            attempt.on(new AcquireMachine.Started());
        } else {
            attempt.on(new AcquireMachine.Enqueued());
            settle(attempt.name());
        }
    }

    /** Whether several attempts of a process may hold a lock of this kind at the same time. */
    static boolean isShared(LockName name) {
        return name.isPermits() || name.isRead();
    }

    /** Whether the attempt on permits states another count than the first in its queue: the store must refuse one of them. */
    private boolean expectsAnotherCount(Contender attempt) {
        LockName name = attempt.name();
        Contender first = name.isPermits() ? first(name) : null;
        return first != null && first.name().permitCount() != name.permitCount();
    }

    /** Changes the queue of this name, if one exists. */
    private void change(LockName name, Consumer<Line> change) {
        find(name, queue -> {
            change.accept(queue);
            return null;
        });
    }

    /** Removes the attempt, which is done; the next one may start. */
    void leave(Contender attempt) {
        remove(attempt);
        settle(attempt.name());
    }

    /** Removes the attempt, which is done; the next one waits for {@link #settle}. */
    void remove(Contender attempt) {
        change(attempt.name(), queue -> queue.leave(attempt));
    }

    /**
     * Records that this process holds the lock. If the lock was granted atomically with others, no attempt is in its
     * queue. A permit or a read lease is not recorded: it prevents no other attempt from contending, and is not passed on.
     */
    void granted(LockName name, Passable grant, long lastToken) {
        if (isShared(name)) {
            return;
        }
        fill(name, queue -> {
            queue.granted(grant, lastToken);
            return true;
        });
    }

    /** Records that the grant is over. */
    void ended(LockName name, Passable grant) {
        if (!queues.remove(name, grant)) {
            change(name, queue -> queue.ended(grant));
            settle(name);
        }
    }

    /** Starts the first attempt, unless the held grant may still be handed to it. */
    void settle(LockName name) {
        // A loop, since a store may answer at once: an attempt that starts is then done at once, and calls this method
        // again. Ten thousand nested calls would exhaust the stack.
        boolean isMine = queues.get(name) instanceof Line && ask(name, false, LocalQueue::beginSettling);
        while (isMine) {
            boolean settled = false;
            try {
                settleOnce(name);
                settled = true;
            } finally {
                boolean done = settled;
                isMine = ask(name, false, queue -> queue.continueSettling(done));
            }
        }
    }

    private void settleOnce(LockName name) {
        Contender first = find(name, LocalQueue::nextContender);
        if (first == null) {
            return;
        }
        Passable held = held(name);
        long waitNanos = held == null ? 0 : held.passableNanos(first.options());
        if (held == null || waitNanos <= 0) {
            first.on(new AcquireMachine.Started());
        } else if (ask(name, false, queue -> queue.beginAwaiting(held))) {
            timeline.schedule(waitNanos, () -> settle(name));
        }
    }

    /** Wakes the contenders for this name, if any exist. */
    void wake(LockName name) {
        contenders(name).forEach(contender -> contender.on(new AcquireMachine.Woken()));
    }

    /** Reports to the contenders for this name, if any exist, that the store has handed over the lock to an attempt. */
    void handedOver(HandOver handOver) {
        contenders(handOver.name()).forEach(contender -> contender.handedOver(handOver));
    }

    /**
     * Returns the attempts that may wait at the store: the first; for permits all, since one that states another count
     * does not wait for its turn. An event does not start an attempt that waits for its turn.
     */
    private List<Contender> contenders(LockName name) {
        if (name.isPermits()) {
            return ask(name, List.of(), LocalQueue::all);
        }
        Contender first = first(name);
        return first == null ? List.of() : List.of(first);
    }

    /** Offers a claim to the contenders for its name, if any exist. Returns whether a lease has begun from it. */
    boolean claimed(Claim claim) {
        for (Contender contender : contenders(claim.handOver().name())) {
            if (contender.claimed(claim)) {
                return true;
            }
        }
        return false;
    }

    /** Wakes all contenders. */
    void wakeAll() {
        queues.keySet().forEach(this::wake);
    }

    /** Returns the attempt that would be next. */
    @Nullable
    Contender first(LockName name) {
        return queues.get(name) instanceof Line ? find(name, LocalQueue::first) : null;
    }

    /** Returns the grant of this name that this process holds. */
    @Nullable
    Passable held(LockName name) {
        return queues.get(name) instanceof Passable held ? held : find(name, LocalQueue::held);
    }

    /** Returns this process as the holder, if it holds the lock. */
    @Nullable
    Holder localHolder(LockName name) {
        Passable held = held(name);
        return held == null ? null : held.asHolder();
    }

    /** Returns how many tokens the next request for this name reserves. */
    int reserve(LockName name) {
        return isShared(name) ? 1 : ask(name, 1, LocalQueue::reserve);
    }

    long seenToken(LockName name) {
        return ask(name, 0L, LocalQueue::seenToken);
    }

    boolean isEmpty() {
        return queues.isEmpty();
    }

    List<Contender> all() {
        List<Contender> all = new ArrayList<>();
        for (LockName name : queues.keySet()) {
            all.addAll(ask(name, List.of(), LocalQueue::all));
        }
        return all;
    }
}
