package io.leasehold.engine;

import io.leasehold.HoldEnd;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * How one lease ended, who is to be notified of it, and for how many permits it stands. Its lease guards all fields.
 *
 * <p>An object of its own, since a lease that is merely held has none of this.
 */
final class LeaseNews {

    final FlightEvents.@Nullable Hold recording;

    /** How many permits the lease stands for. */
    int permits = 1;

    List<Consumer<? super Duration>> riskCallbacks = List.of();

    HoldEnd.@Nullable Lost loss;
    /** Whether user code was notified of the loss. */
    boolean lossReported;
    /** Whether the lock is to be released for a waiter at the store, and not passed on within the process. */
    boolean forOthers;

    /** The part of the lease in a hold of several. */
    JoinedEnd.@Nullable Part part;

    @Nullable
    HoldEnd end;
    /** Created by the first caller that requests it. */
    @Nullable
    CompletableFuture<HoldEnd> ended;

    private List<Consumer<? super LossCause>> lossCallbacks = List.of();
    /** The threads to interrupt at a loss, each once. */
    private List<Interruption> interruptions = List.of();

    private @Nullable CompletableFuture<ReleaseOutcome> released;

    LeaseNews(FlightEvents.@Nullable Hold recording) {
        this.recording = recording;
    }

    void onLost(Consumer<? super LossCause> callback) {
        lossCallbacks = with(lossCallbacks, callback);
    }

    /** Returns the loss, which is thereby reported to the caller. Before a loss, the step stores the caller's request. */
    HoldEnd.@Nullable Lost lossOr(Consumer<LeaseNews> keep) {
        if (loss == null) {
            keep.accept(this);
        } else {
            lossReported = true;
        }
        return loss;
    }

    /** Interrupts this thread at a loss, too. */
    void onLost(Interruption wanted) {
        interruptions = wanted.addedTo(interruptions);
    }

    /** Interrupts no thread from now on. */
    void forgetInterruptions() {
        interruptions = List.of();
    }

    void onAtRisk(Consumer<? super Duration> callback) {
        riskCallbacks = with(riskCallbacks, callback);
    }

    private static <T> List<T> with(List<T> list, T more) {
        List<T> longer = new ArrayList<>(list);
        longer.add(more);
        return longer;
    }

    /** Records the loss, and interrupts the threads that requested that. Returns the callbacks to run, each once. */
    List<Consumer<? super LossCause>> lost(HoldEnd.Lost lost, boolean isGivenBack) {
        loss = lost;
        List<Consumer<? super LossCause>> callbacks = isGivenBack ? List.of() : lossCallbacks;
        lossCallbacks = List.of();
        lossReported |= !callbacks.isEmpty();
        for (Interruption wanted : interruptions) {
            lossReported |= wanted.deliver();
        }
        return callbacks;
    }

    CompletionStage<HoldEnd> whenEnded() {
        if (end != null) {
            return CompletableFuture.completedStage(end);
        }
        ended = ended == null ? new CompletableFuture<>() : ended;
        return ended.minimalCompletionStage();
    }

    /** Returns the future of the release, which completes with its outcome. */
    CompletableFuture<ReleaseOutcome> released() {
        released = released == null ? new CompletableFuture<>() : released;
        return released;
    }
}
