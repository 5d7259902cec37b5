package io.leasehold.engine;

import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.LockListener;
import io.leasehold.LockListener.RenewalOutcome;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.spi.Grant;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The lease a caller holds: carries out what its {@link LeaseMachine} decides.
 *
 * <p>All fields that change are guarded by {@code this}; actions are carried out outside of it, and user code runs on
 * the callback executor.
 */
final class LeaseHandle implements Lease {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    private final LockName name;
    private final Grant grant;
    private final Timings timings;
    private final Wiring wiring;
    private final LeaseMachine machine;
    private final CompletableFuture<ReleaseOutcome> released = new CompletableFuture<>();
    private final CompletableFuture<HoldEnd> ended = new CompletableFuture<>();

    private final List<Consumer<? super LossCause>> lossCallbacks = new ArrayList<>(1);
    private final List<Consumer<? super Duration>> riskCallbacks = new ArrayList<>(1);
    private List<CompletableFuture<Void>> renewalsByHand = new ArrayList<>(1);
    private @Nullable Thread toInterrupt;
    private boolean heardOfLoss;
    private boolean releaseCalled;
    private LockRuntime.@Nullable Timer renewTimer;
    private LockRuntime.@Nullable Timer endTimer;

    LeaseHandle(LockName name, Grant grant, Timings timings, Wiring wiring) {
        this.name = name;
        this.grant = grant;
        this.timings = timings;
        this.wiring = wiring;
        this.machine =
                new LeaseMachine(timings, grant.sentAtNanos(), wiring.runtime().nanoTime());
    }

    /** Arms the timers and lets the client find the lease. */
    void begin() {
        wiring.holds().add(grant.owner(), this);
        perform(machine.begin(grant.sentAtNanos(), wiring.random()));
    }

    private void on(LeaseMachine.Event event) {
        List<LeaseMachine.Action> actions;
        synchronized (this) {
            actions = machine.on(event, wiring.runtime().nanoTime());
        }
        perform(actions);
    }

    private void perform(List<LeaseMachine.Action> actions) {
        for (LeaseMachine.Action action : actions) {
            if (action instanceof LeaseMachine.Renew renew) {
                wiring.renewals().renew(this, renew.byHand() ? 0 : timings.batchingNanos());
            } else if (action instanceof LeaseMachine.ArmRenew arm) {
                arm(arm.atNanos(), false);
            } else if (action instanceof LeaseMachine.ArmEnd arm) {
                arm(arm.atNanos(), true);
            } else if (action instanceof LeaseMachine.TellAtRisk risk) {
                tellAtRisk(Duration.ofNanos(risk.remainingNanos()));
            } else if (action instanceof LeaseMachine.TellLost lost) {
                tellLost(lost.cause());
            } else if (action instanceof LeaseMachine.SendRelease release) {
                sendRelease(release.lost());
            }
        }
    }

    private synchronized void arm(long atNanos, boolean end) {
        if (!machine.isHeld()) {
            return;
        }
        long delayNanos = atNanos - wiring.runtime().nanoTime();
        if (end) {
            cancel(endTimer);
            endTimer = wiring.runtime().schedule(delayNanos, () -> on(new LeaseMachine.EndDue()));
        } else {
            cancel(renewTimer);
            renewTimer = wiring.runtime().schedule(delayNanos, () -> on(new LeaseMachine.RenewDue(false)));
        }
    }

    private static void cancel(LockRuntime.@Nullable Timer timer) {
        if (timer != null) {
            timer.cancel();
        }
    }

    private synchronized void disarm() {
        cancel(renewTimer);
        cancel(endTimer);
        renewTimer = null;
        endTimer = null;
    }

    // ---- renewal

    Timings timings() {
        return timings;
    }

    synchronized boolean mayBeRenewed() {
        return machine.isHeld();
    }

    RenewBatch.Item renewalItem() {
        return new RenewBatch.Item(name, grant.owner(), timings.ttlNanos());
    }

    void renewalAnswered(RenewReply.Item answer) {
        Duration headroom = remainingValidityUnheard();
        if (answer instanceof RenewReply.Renewed renewed) {
            on(new LeaseMachine.Renewed(renewed.sentAtNanos()));
            tellRenewed(RenewalOutcome.RENEWED, headroom);
            finishRenewalsByHand(null);
        } else if (answer instanceof RenewReply.NotOurs) {
            on(new LeaseMachine.TakenAway(LossCause.NOT_OURS));
            tellRenewed(RenewalOutcome.NOT_OURS, headroom);
            finishRenewalsByHand(null);
        } else if (answer instanceof RenewReply.Failed failed) {
            on(new LeaseMachine.RenewFailed());
            tellRenewed(RenewalOutcome.FAILED, headroom);
            finishRenewalsByHand(failed.error());
        }
    }

    private void tellRenewed(RenewalOutcome outcome, Duration headroom) {
        wiring.events()
                .tell(l -> l.renewed(new LockListener.Renewed(
                        name, fencingToken(), outcome, headroom, Duration.ofNanos(timings.ttlNanos()))));
    }

    private void finishRenewalsByHand(@Nullable RuntimeException error) {
        List<CompletableFuture<Void>> waiting;
        LossCause lost;
        synchronized (this) {
            waiting = renewalsByHand;
            renewalsByHand = new ArrayList<>(1);
            lost = machine.cause();
        }
        for (CompletableFuture<Void> future : waiting) {
            if (lost != null) {
                future.completeExceptionally(lostException(lost));
            } else if (error != null) {
                future.completeExceptionally(error);
            } else {
                future.complete(null);
            }
        }
    }

    @Override
    public void renew() {
        Edge.join(wiring.runtime(), requestRenewal());
    }

    @Override
    public CompletableFuture<Void> renewAsync() {
        return Edge.onCallbackExecutor(wiring.runtime(), requestRenewal());
    }

    private CompletableFuture<Void> requestRenewal() {
        CompletableFuture<Void> future = new CompletableFuture<>();
        synchronized (this) {
            refuseIfReleased("renew");
            LossCause lost = causeNow();
            if (lost != null) {
                heardOfLoss = true;
                future.completeExceptionally(lostException(lost));
                return future;
            }
            renewalsByHand.add(future);
        }
        on(new LeaseMachine.RenewDue(true));
        return future;
    }

    private void refuseIfReleased(String verb) {
        if (releaseCalled) {
            throw new IllegalStateException("cannot " + verb + " lease on \"" + name + "\": it was released");
        }
    }

    // ---- queries

    @Override
    public LockName lockName() {
        return name;
    }

    @Override
    public long fencingToken() {
        return grant.tokens().first();
    }

    @Override
    public Duration remainingValidity() {
        Duration remaining = remainingValidityUnheard();
        if (remaining.isZero()) {
            noticeLoss();
        }
        return remaining;
    }

    private synchronized Duration remainingValidityUnheard() {
        return Duration.ofNanos(machine.remainingNanos(wiring.runtime().nanoTime()));
    }

    /** The caller was just told that the lease is over. */
    private void noticeLoss() {
        on(new LeaseMachine.EndDue());
        synchronized (this) {
            heardOfLoss = true;
        }
    }

    @Override
    public boolean isValid() {
        return !remainingValidity().isZero();
    }

    @Override
    public void ensureValidFor(Duration duration) {
        if (duration.isNegative() || Timings.saturatedNanos(duration) > timings.longestCheckableNanos()) {
            throw new IllegalArgumentException("ensureValidFor(" + duration + ") on \"" + name
                    + "\": a healthy lease with a ttl of " + Duration.ofNanos(timings.ttlNanos())
                    + " is only sure to have " + Duration.ofNanos(timings.longestCheckableNanos())
                    + " left; ask for less, or set a ttl of at least "
                    + ttlNeeded(Timings.saturatedNanos(duration)).toMillis() + " ms");
        }
        synchronized (this) {
            refuseIfReleased("check");
        }
        Duration remaining = remainingValidity();
        if (remaining.isZero()) {
            LossCause lost;
            synchronized (this) {
                lost = causeNow();
            }
            throw lostException(lost == null ? LossCause.EXPIRED : lost);
        }
        if (remaining.compareTo(duration) < 0) {
            throw new LeaseAtRiskException(name, remaining, duration);
        }
    }

    /** The ttl whose checkable share of the present one's covers the duration. */
    private Duration ttlNeeded(long durationNanos) {
        double share = (double) timings.longestCheckableNanos() / timings.ttlNanos();
        return Duration.ofMillis((long) Math.ceil(Math.max(0, durationNanos) / share / 1e6) + 1);
    }

    private @Nullable LossCause causeNow() {
        return machine.isHeld() ? null : machine.cause();
    }

    private LeaseLostException lostException(LossCause cause) {
        String detail = switch (cause) {
            case EXPIRED -> "no renewal succeeded in time at " + wiring.store().description();
            case NOT_OURS -> wiring.store().description() + " says that it is gone or held by somebody else";
            case FORCE_RELEASED -> "an operator released it by force";
            case MAX_HOLD -> "it reached maxHold and was no longer renewed";
            case SESSION_LOST -> "the session at " + wiring.store().description() + " ended";
            case CLIENT_CLOSED -> "its client was closed";
        };
        return new LeaseLostException(name, cause, detail);
    }

    // ---- loss

    void takenAway(LossCause cause) {
        on(new LeaseMachine.TakenAway(cause));
    }

    private void tellAtRisk(Duration remaining) {
        wiring.events().tell(l -> l.atRisk(new LockListener.AtRisk(name, fencingToken(), remaining)));
        List<Consumer<? super Duration>> callbacks;
        synchronized (this) {
            callbacks = List.copyOf(riskCallbacks);
        }
        callbacks.forEach(callback -> wiring.runtime().execute(() -> callback.accept(remaining)));
    }

    private void tellLost(LossCause cause) {
        disarm();
        wiring.holds().remove(grant.owner());
        List<Consumer<? super LossCause>> callbacks;
        synchronized (this) {
            callbacks = List.copyOf(lossCallbacks);
            lossCallbacks.clear();
            heardOfLoss |= !callbacks.isEmpty();
            if (toInterrupt != null && !releaseCalled) {
                toInterrupt.interrupt();
                heardOfLoss = true;
            }
        }
        callbacks.forEach(callback -> wiring.runtime().execute(() -> callback.accept(cause)));
        wiring.runtime().execute(() -> ended.complete(new HoldEnd.Lost(cause)));
        finishRenewalsByHand(null);
        wiring.events().tell(l -> l.lost(new LockListener.Lost(name, fencingToken(), cause, heldFor())));
    }

    private Duration heldFor() {
        return Duration.ofNanos(wiring.runtime().nanoTime() - machine.acquiredAtNanos());
    }

    @Override
    public void onLost(Consumer<? super LossCause> callback) {
        Objects.requireNonNull(callback, "callback");
        LossCause lost;
        synchronized (this) {
            if (releaseCalled) {
                return;
            }
            lost = causeNow();
            if (lost == null) {
                lossCallbacks.add(callback);
                return;
            }
            heardOfLoss = true;
        }
        wiring.runtime().execute(() -> callback.accept(lost));
    }

    @Override
    public synchronized void onAtRisk(Consumer<? super Duration> callback) {
        riskCallbacks.add(Objects.requireNonNull(callback, "callback"));
    }

    @Override
    public void interruptOnLoss() {
        synchronized (this) {
            if (releaseCalled) {
                return;
            }
            toInterrupt = Thread.currentThread();
            if (machine.isHeld()) {
                return;
            }
            heardOfLoss = true;
        }
        Thread.currentThread().interrupt();
    }

    @Override
    public CompletionStage<HoldEnd> whenEnded() {
        return ended.minimalCompletionStage();
    }

    // ---- release

    @Override
    public ReleaseOutcome release() {
        return Edge.join(wiring.runtime(), requestRelease());
    }

    @Override
    public CompletableFuture<ReleaseOutcome> releaseAsync() {
        return Edge.onCallbackExecutor(wiring.runtime(), requestRelease());
    }

    @Override
    public void close() {
        try {
            requestRelease();
            LossCause unheard;
            synchronized (this) {
                unheard = heardOfLoss ? null : machine.cause();
                heardOfLoss = true;
            }
            if (unheard != null) {
                LOG.error(
                        "lease on \"{}\" (token {}) was lost ({}) while it was in use, and nothing noticed; what it"
                                + " protected may have been used by others. Use ensureValidFor, onLost or the fencing token.",
                        name,
                        fencingToken(),
                        unheard);
            }
            Edge.join(wiring.runtime(), released);
        } catch (RuntimeException e) {
            LOG.warn("closing the lease on \"{}\" failed; it ends with its ttl", name, e);
        }
    }

    /** The client closes: tells the holder, and ends what is at the store. */
    void clientClosing() {
        takenAway(LossCause.CLIENT_CLOSED);
        end(ReleaseRequest.Kind.UNDO);
    }

    private CompletableFuture<ReleaseOutcome> requestRelease() {
        synchronized (this) {
            releaseCalled = true;
            toInterrupt = null;
        }
        on(new LeaseMachine.ReleaseCalled());
        return released;
    }

    private void sendRelease(@Nullable LossCause lost) {
        disarm();
        wiring.holds().remove(grant.owner());
        finishRenewalsByHand(new IllegalStateException("lease on \"" + name + "\" was released during its renewal"));
        if (lost != null) {
            if (lost != LossCause.NOT_OURS) {
                end(ReleaseRequest.Kind.UNDO);
            }
            released.complete(ReleaseOutcome.ALREADY_LOST);
            return;
        }
        long validUntilAtNanos = machine.validUntilAtNanos();
        end(ReleaseRequest.Kind.RELEASE).thenAccept(reply -> finishRelease(outcome(reply, validUntilAtNanos)));
    }

    private CompletableFuture<ReleaseReply> end(ReleaseRequest.Kind kind) {
        ReleaseRequest request =
                new ReleaseRequest(List.of(name), grant.owner(), grant.tokens().last(), kind, timings.answerNanos());
        return wiring.undoer().end(request, timings.undoNanos());
    }

    private ReleaseOutcome outcome(ReleaseReply reply, long validUntilAtNanos) {
        if (reply instanceof ReleaseReply.Released) {
            return ReleaseOutcome.RELEASED;
        }
        boolean inTime = wiring.runtime().nanoTime() - validUntilAtNanos < 0;
        return reply instanceof ReleaseReply.NotOurs && inTime
                ? ReleaseOutcome.ALREADY_LOST
                : ReleaseOutcome.UNCONFIRMED;
    }

    private void finishRelease(ReleaseOutcome outcome) {
        released.complete(outcome);
        wiring.runtime().execute(() -> ended.complete(new HoldEnd.Released(outcome)));
        wiring.events().tell(l -> l.released(new LockListener.Released(name, fencingToken(), outcome, heldFor())));
    }

    @Override
    public String toString() {
        return "Lease[" + name + ", token " + fencingToken() + ", valid for "
                + remainingValidityUnheard().toMillis() + " ms]";
    }
}
