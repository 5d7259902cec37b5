package io.leasehold.engine;

import static java.util.Objects.requireNonNull;

import io.leasehold.Candidate;
import io.leasehold.Election;
import io.leasehold.Holder;
import io.leasehold.Leader;
import io.leasehold.LockName;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Polls for the leader of an election, and notifies its observer of each change. Sends one query at a time. */
final class LeaderWatch implements Election.Observation {

    private final LockName name;
    private final WaitPolicy policy;
    private final EngineContext context;
    private final Attempts attempts;
    private final Consumer<? super Optional<Leader>> observer;

    private boolean closed;
    private LockRuntime.@Nullable Timer timer;
    /** The last answer that was reported; null before the first. */
    private @Nullable Seen told;

    private boolean outage;

    /** The values that distinguish one leader from the next. */
    private record Seen(Optional<String> holderId, Optional<OptionalLong> term) {}

    LeaderWatch(LockName name, WaitPolicy policy, Attempts attempts, Consumer<? super Optional<Leader>> observer) {
        this.name = name;
        this.policy = policy;
        this.context = attempts.context();
        this.attempts = attempts;
        this.observer = observer;
    }

    /** Returns the current leader, with the data from its client's record. */
    static CompletableFuture<Optional<Leader>> ask(LockStore store, LockName name) {
        return Futures.ask(() -> store.admin().describe(name))
                .thenCompose(record -> record.map(HeldLock::holder)
                        .map(holder -> withRecord(store, name, holder))
                        .orElseGet(() -> CompletableFuture.completedFuture(Optional.empty())));
    }

    /** Adds the client's record: a store that cannot answer is not asked twice for it. */
    private static CompletableFuture<Optional<Leader>> withRecord(LockStore store, LockName name, Holder holder) {
        return record(store, holder.id())
                .thenApply(client -> Optional.of(new Leader(
                        holder.id(),
                        client.map(ClientRecord::application).orElse(""),
                        holder.fencingToken(),
                        client.flatMap(c -> c.holdOf(name)).map(ClientRecord.ClientHold::since))));
    }

    /** Returns the candidates that wait, with the labels from the records of their clients. */
    static CompletableFuture<List<Candidate>> candidates(LockStore store, LockName name, int limit) {
        return Futures.ask(() -> store.admin().waiters(name, limit)).thenCompose(waiters -> {
            Map<String, CompletableFuture<String>> labels = new HashMap<>();
            for (QueuedWaiter waiter : waiters) {
                labels.computeIfAbsent(
                        waiter.holderId(),
                        id -> record(store, id)
                                .thenApply(client ->
                                        client.map(ClientRecord::application).orElse("")));
            }
            return CompletableFuture.allOf(labels.values().toArray(CompletableFuture[]::new))
                    .thenApply(all -> waiters.stream()
                            .map(waiter -> new Candidate(
                                    waiter.holderId(),
                                    requireNonNull(labels.get(waiter.holderId()))
                                            .join(),
                                    Optional.ofNullable(waiter.waited())))
                            .toList());
        });
    }

    /** Reads a client's record, which is optional. */
    private static CompletableFuture<Optional<ClientRecord>> record(LockStore store, String holderId) {
        return Futures.ask(() -> store.operations().client(holderId)).exceptionally(unknown -> Optional.empty());
    }

    LeaderWatch begin() {
        attempts.requireOpen();
        look();
        return this;
    }

    private void look() {
        if (isClosed()) {
            return;
        }
        ask(context.store(), name)
                .whenComplete((leader, error) -> Futures.execute(context.runtime(), () -> {
                    try {
                        if (error == null) {
                            answered(leader);
                        } else {
                            unanswered(Futures.unwrapped(error));
                        }
                    } finally {
                        lookAgain();
                    }
                }));
    }

    private void answered(Optional<Leader> leader) {
        Seen seen = new Seen(leader.map(Leader::holderId), leader.map(Leader::term));
        synchronized (this) {
            outage = false;
            if (closed || seen.equals(told)) {
                return;
            }
            told = seen;
        }
        Futures.guarded("an observer of election \"" + name + "\"", () -> observer.accept(leader));
    }

    private void unanswered(Throwable error) {
        synchronized (this) {
            if (closed || outage || attempts.isClosing()) {
                return;
            }
            outage = true;
        }
        ElectionMessages.leaderUnseen(name, error);
    }

    private void lookAgain() {
        LockRuntime.Timer next = TimerQueue.duty(
                () -> context.timeline().schedule(policy.queuedNanos(null, context.random()), this::look));
        synchronized (this) {
            timer = next;
            if (closed) {
                timer = TimerQueue.cancelled(timer);
            }
        }
    }

    private synchronized boolean isClosed() {
        return closed;
    }

    @Override
    public synchronized void close() {
        closed = true;
        timer = TimerQueue.cancelled(timer);
    }
}
