package io.leasehold.engine;

import static java.util.Objects.requireNonNull;

import io.leasehold.Hold;
import io.leasehold.HoldEnd;
import io.leasehold.LeaseLostException;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Several leases as one hold: delegates to each part, and ends with the first part that ends. */
abstract class JoinedLeases implements Hold, UnseenHold {

    private static final List<ReleaseOutcome> WORST_FIRST = List.of(
            ReleaseOutcome.ALREADY_LOST, ReleaseOutcome.UNCONFIRMED, ReleaseOutcome.KEPT, ReleaseOutcome.RELEASED);

    final List<LeaseHandle> parts;
    /** At most one for each thread. */
    private final AtomicReference<List<Interruption>> interruptions = new AtomicReference<>(List.of());

    /** Takes the parts in the order in which they were acquired. */
    JoinedLeases(List<LeaseHandle> parts) {
        this.parts = List.copyOf(parts);
    }

    @Override
    public void openedBy(Thread thread) {
        parts.forEach(part -> part.state().openedBy(thread));
    }

    @Override
    public CompletableFuture<ReleaseOutcome> giveBackUnseen() {
        parts.forEach(part -> part.state().unseen());
        return Futures.ask(this::releaseAsync);
    }

    @Override
    public @Nullable LeaseLostException lossAtRelease() {
        LeaseLostException first = null;
        for (LeaseHandle part : parts) {
            LeaseLostException lost = part.lossAtRelease();
            first = first == null ? lost : first;
        }
        return first;
    }

    @Override
    public Duration remainingValidity() {
        return parts.stream()
                .map(LeaseHandle::remainingValidity)
                .min(Duration::compareTo)
                .orElseThrow();
    }

    @Override
    public boolean isValid() {
        return parts.stream().allMatch(LeaseHandle::isValid);
    }

    @Override
    public void ensureValidFor(Duration duration) {
        ValidityWait.ensure(states(), duration);
    }

    @Override
    public CompletionStage<Void> ensureValidForAsync(Duration duration) {
        return ValidityWait.ensureAsync(states(), duration);
    }

    private List<ActiveLease> states() {
        return parts.stream().map(LeaseHandle::state).toList();
    }

    /** Renews part by part, without the asynchronous form, which completes on another thread. */
    @Override
    public void renew() {
        parts.forEach(LeaseHandle::renew);
    }

    @Override
    public CompletableFuture<Void> renewAsync() {
        return CompletableFuture.allOf(
                parts.stream().map(LeaseHandle::renewAsync).toArray(CompletableFuture[]::new));
    }

    @Override
    public ReleaseOutcome release() {
        callOffInterruptions();
        parts.forEach(part -> Futures.guarded("the release of one of several leases", part::releaseAsync));
        ReleaseOutcome all = ReleaseOutcome.RELEASED;
        for (int i = parts.size() - 1; i >= 0; i--) {
            all = worse(all, parts.get(i).release());
        }
        return all;
    }

    @Override
    public CompletableFuture<ReleaseOutcome> releaseAsync() {
        callOffInterruptions();
        CompletableFuture<ReleaseOutcome> all = CompletableFuture.completedFuture(ReleaseOutcome.RELEASED);
        for (int i = parts.size() - 1; i >= 0; i--) {
            all = all.thenCombine(Futures.ask(parts.get(i)::releaseAsync), JoinedLeases::worse);
        }
        return all;
    }

    private static ReleaseOutcome worse(ReleaseOutcome one, ReleaseOutcome other) {
        return WORST_FIRST.indexOf(one) <= WORST_FIRST.indexOf(other) ? one : other;
    }

    @Override
    public void close() {
        callOffInterruptions();
        parts.forEach(part -> Futures.guarded("the release of one of several leases", part::beginClose));
        for (int i = parts.size() - 1; i >= 0; i--) {
            Futures.guarded("closing one of several leases", parts.get(i)::close);
        }
    }

    @Override
    public CompletionStage<HoldEnd> whenEnded() {
        // Keep no reference to the handles of the parts, since the ends outlive them: a dropped lease must be detected.
        CompletableFuture<HoldEnd> lost = new CompletableFuture<>();
        CompletableFuture<HoldEnd> all =
                CompletableFuture.completedFuture(new HoldEnd.Released(ReleaseOutcome.RELEASED));
        for (LeaseHandle part : parts) {
            CompletableFuture<HoldEnd> end = part.whenEnded().toCompletableFuture();
            end.thenAccept(how -> {
                if (how instanceof HoldEnd.Lost) {
                    lost.complete(how);
                }
            });
            all = all.thenCombine(end, JoinedLeases::worse);
        }
        return all.applyToEither(lost, how -> how).minimalCompletionStage();
    }

    private static HoldEnd worse(HoldEnd one, HoldEnd other) {
        return one instanceof HoldEnd.Released first && other instanceof HoldEnd.Released second
                ? new HoldEnd.Released(worse(first.outcome(), second.outcome()))
                : one instanceof HoldEnd.Lost ? one : other;
    }

    @Override
    public void onLost(Consumer<? super LossCause> callback) {
        AtomicBoolean told = new AtomicBoolean();
        parts.forEach(part -> part.onLost(cause -> {
            if (told.compareAndSet(false, true)) {
                callback.accept(cause);
            }
        }));
    }

    @Override
    public void onAtRisk(Consumer<? super Duration> callback) {
        JoinedRisk risk = new JoinedRisk(requireNonNull(callback, "callback"));
        for (ActiveLease part : states()) {
            part.onAtRisk(remaining -> risk.of(part, remaining));
        }
    }

    @Override
    public void interruptOnLoss() {
        Interruption wanted = new Interruption();
        interruptions.updateAndGet(wanted::addedTo);
        parts.forEach(part -> part.state().interruptOnLoss(wanted));
    }

    /**
     * Cancels the interruptions before the first part is released: a part that proves to be lost must not interrupt the
     * code that follows.
     */
    private void callOffInterruptions() {
        requireNonNull(interruptions.get()).forEach(Interruption::callOff);
    }
}
