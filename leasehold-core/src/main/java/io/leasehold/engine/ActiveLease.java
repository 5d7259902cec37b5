package io.leasehold.engine;

import io.leasehold.HoldEnd;
import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.NodeVote;
import io.leasehold.ReleaseOutcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One lease of a grant: its token, who listens, and how it ended. What the caller has is a {@link LeaseHandle} to it, so
 * that a forgotten handle can be noticed.
 *
 * <p>Fields that change are guarded by {@code this}; user code runs on threads for callbacks.
 */
final class ActiveLease implements LeakWatch.Watched {

    private final LeaseOwner owner;
    private final long token;
    private final long acquiredAtNanos;
    private final CompletableFuture<ReleaseOutcome> released = new CompletableFuture<>();
    private final FlightEvents.@Nullable Hold recording;

    /** Only there once somebody has asked for it. */
    private @Nullable CompletableFuture<HoldEnd> ended;

    private @Nullable HoldEnd end;
    private List<Consumer<? super LossCause>> lossCallbacks = List.of();
    private List<Consumer<? super Duration>> riskCallbacks = List.of();
    private @Nullable Thread opener;
    /** A thread other than its opener has used it, and may be the one to release it. */
    private boolean shared;

    private boolean unseen;

    private @Nullable Interruption interruption;
    private @Nullable LossCause cause;
    private List<NodeVote> votes = List.of();
    private boolean heardOfLoss;
    private boolean releaseCalled;

    ActiveLease(LeaseOwner owner, long token, long acquiredAtNanos) {
        this.owner = owner;
        this.token = token;
        this.acquiredAtNanos = acquiredAtNanos;
        this.recording = FlightEvents.holdBegun();
    }

    @Override
    public LockName name() {
        return owner.name();
    }

    LeaseOwner owner() {
        return owner;
    }

    @Override
    public long token() {
        return token;
    }

    /** How long its lock is kept; no caller has seen a lease that is given back by the engine. */
    synchronized GrantEvent.Keeping keeping() {
        return new GrantEvent.Keeping(acquiredAtNanos, unseen ? 0 : owner.atLeastNanos());
    }

    /** No caller has seen it, and none will. */
    synchronized void unseen() {
        unseen = true;
    }

    Duration heldFor() {
        return Duration.ofNanos(owner.context().runtime().nanoTime() - acquiredAtNanos);
    }

    /** The thread that waited for it, if one did. */
    synchronized void openedBy(Thread thread) {
        opener = thread;
    }

    /** The name of the thread that waited for it, or empty. */
    synchronized String openerName() {
        return opener == null ? "" : opener.getName();
    }

    synchronized boolean isOpenedByOtherThan(Thread thread) {
        return opener != null && opener != thread && opener.isAlive() && !releaseCalled;
    }

    synchronized boolean isToBeReleased() {
        return !releaseCalled && (opener == null || shared || opener.isAlive());
    }

    /** Whether this thread opened it, and is, as far as can be known, the only one that can release it. */
    synchronized boolean isOnlyFor(Thread thread) {
        return opener == thread && !shared && !releaseCalled;
    }

    /** Called, under the guard, by everything that a holder does. */
    private void used() {
        if (opener != null && opener != Thread.currentThread()) {
            shared = true;
        }
    }

    // ---- queries

    /** The validity left, with which nobody is told anything. */
    Duration remaining() {
        synchronized (this) {
            used();
            if (releaseCalled) {
                return Duration.ZERO;
            }
        }
        return Duration.ofNanos(owner.remainingNanos(this));
    }

    /** The validity left; a caller that reads zero has heard that it is over. */
    Duration tellRemaining() {
        Duration remaining = remaining();
        if (remaining.isZero()) {
            owner.on(new GrantEvent.EndDue());
            synchronized (this) {
                heardOfLoss = true;
            }
        }
        return remaining;
    }

    void ensureValidFor(Duration duration) {
        Timings timings = owner.timings();
        if (duration.isNegative() || Timings.saturatedNanos(duration) > timings.longestCheckableNanos()) {
            throw LeaseMessages.uncheckable(name(), duration, timings);
        }
        refuseIfReleased("check");
        Duration remaining = tellRemaining();
        if (remaining.isZero()) {
            LossCause lost = cause();
            if (lost == null) {
                throw new LeaseAtRiskException(name(), Duration.ZERO, duration);
            }
            throw lostException(lost);
        }
        if (remaining.compareTo(duration) < 0) {
            throw new LeaseAtRiskException(name(), remaining, duration);
        }
    }

    private synchronized void refuseIfReleased(String verb) {
        used();
        if (releaseCalled) {
            throw new IllegalStateException("cannot " + verb + " the lease on \"" + name() + "\": it was released");
        }
    }

    /** The caller was told of the loss by an exception. */
    synchronized void heardOfLoss() {
        heardOfLoss = true;
    }

    synchronized @Nullable LossCause cause() {
        return cause;
    }

    private synchronized List<NodeVote> votes() {
        return votes;
    }

    CompletableFuture<Void> renew() {
        try {
            refuseIfReleased("renew");
        } catch (IllegalStateException e) {
            return CompletableFuture.failedFuture(e);
        }
        owner.on(new GrantEvent.EndDue());
        LossCause lost = cause();
        if (lost != null) {
            return CompletableFuture.failedFuture(lostException(lost));
        }
        return owner.renewByHand();
    }

    // ---- loss

    /** The loss as an exception, for a caller that asks; it has heard of it then. */
    private LeaseLostException lostException(LossCause lost) {
        heardOfLoss();
        return LeaseMessages.lost(name(), lost, votes(), store());
    }

    private String store() {
        return owner.context().store().description();
    }

    /** Nothing once it was given back: a lock that is kept for a while is held by nobody. */
    void atRisk(Duration remaining) {
        List<Consumer<? super Duration>> callbacks;
        synchronized (this) {
            if (releaseCalled) {
                return;
            }
            callbacks = riskCallbacks;
        }
        owner.context().events().tell(l -> l.atRisk(new LockListener.AtRisk(name(), token, remaining)));
        callbacks.forEach(callback -> call(() -> callback.accept(remaining)));
    }

    private void call(Runnable userCode) {
        Futures.execute(owner.context().runtime(), userCode);
    }

    void lost(LossCause why, List<NodeVote> said) {
        List<Consumer<? super LossCause>> callbacks;
        synchronized (this) {
            cause = why;
            votes = said;
            // It may turn out during a release that the lease had ended before; no callback comes after a release.
            callbacks = releaseCalled ? List.of() : lossCallbacks;
            lossCallbacks = List.of();
            heardOfLoss |= !callbacks.isEmpty();
            if (interruption != null) {
                heardOfLoss |= interruption.deliver();
            }
        }
        callbacks.forEach(callback -> call(() -> callback.accept(why)));
        if (!tellEnd(new HoldEnd.Lost(why, said))) {
            return;
        }
        if (recording != null) {
            recording.ended(name(), token, "LOST");
        }
        FlightEvents.lost(name(), token, why, heldFor(), store());
        owner.context().events().tell(l -> l.lost(new LockListener.Lost(name(), token, why, heldFor(), said)));
    }

    /** Its handle was dropped. One that has ended was left to end by itself. */
    @Override
    public boolean isLeaked() {
        return cause() == null;
    }

    @Override
    public void leaked() {
        owner.abandon(LossCause.LEAKED);
    }

    void abandoned(LossCause why) {
        LeaseMessages.logAbandoned(name(), token, why, heldFor());
        owner.context().events().tell(l -> l.abandoned(new LockListener.Abandoned(name(), token, why, heldFor())));
    }

    void onLost(Consumer<? super LossCause> callback) {
        Objects.requireNonNull(callback, "callback");
        LossCause lost;
        synchronized (this) {
            used();
            if (releaseCalled) {
                return;
            }
            lost = cause;
            if (lost == null) {
                lossCallbacks = with(lossCallbacks, callback);
                return;
            }
            heardOfLoss = true;
        }
        call(() -> callback.accept(lost));
    }

    synchronized void onAtRisk(Consumer<? super Duration> callback) {
        used();
        riskCallbacks = with(riskCallbacks, Objects.requireNonNull(callback, "callback"));
    }

    private static <T> List<T> with(List<T> list, T more) {
        List<T> longer = new ArrayList<>(list);
        longer.add(more);
        return longer;
    }

    void interruptOnLoss(Interruption wanted) {
        synchronized (this) {
            used();
            if (releaseCalled) {
                return;
            }
            if (cause == null) {
                interruption = wanted;
                return;
            }
            heardOfLoss = true;
        }
        wanted.deliver();
    }

    /** Tells how it ended, once: false if that was told before. */
    private boolean tellEnd(HoldEnd how) {
        CompletableFuture<HoldEnd> asked;
        synchronized (this) {
            if (end != null) {
                return false;
            }
            end = how;
            asked = ended;
        }
        if (asked != null) {
            call(() -> asked.complete(how));
        }
        return true;
    }

    CompletionStage<HoldEnd> whenEnded() {
        synchronized (this) {
            if (end != null) {
                return CompletableFuture.completedStage(end);
            }
            if (ended == null) {
                ended = new CompletableFuture<>();
            }
            return ended.minimalCompletionStage();
        }
    }

    // ---- release

    synchronized boolean isUnreleased() {
        return !releaseCalled;
    }

    /** Gives the lease back, once; the future completes with the outcome, on whatever thread. */
    CompletableFuture<ReleaseOutcome> release() {
        synchronized (this) {
            if (releaseCalled) {
                return released;
            }
            releaseCalled = true;
            interruption = null;
        }
        try {
            owner.giveBack(this);
        } catch (RuntimeException | Error e) {
            // Also for a second caller, and for close().
            released.complete(ReleaseOutcome.UNCONFIRMED);
            throw e;
        }
        return released;
    }

    /** The next lease of the same grant has begun: this one is over, without a word to the store. */
    void passedOn() {
        released(ReleaseOutcome.RELEASED, List.of());
    }

    void released(ReleaseOutcome outcome, List<NodeVote> said) {
        if (!released.complete(outcome) || !tellEnd(new HoldEnd.Released(outcome, said))) {
            return;
        }
        if (recording != null) {
            recording.ended(name(), token, outcome.name());
        }
        owner.context()
                .events()
                .tell(l -> l.released(new LockListener.Released(name(), token, outcome, heldFor(), said)));
    }

    /** Logs, once, a loss that nothing of the user's has heard of. */
    void logUnheardLoss(ReleaseOutcome outcome) {
        LossCause unheard;
        synchronized (this) {
            // What only the release found out is a loss like any other.
            boolean found = cause == null && outcome == ReleaseOutcome.ALREADY_LOST;
            unheard = heardOfLoss ? null : found ? LossCause.NOT_OURS : cause;
            heardOfLoss = true;
        }
        if (unheard != null) {
            LeaseMessages.logUnheardLoss(name(), token, unheard, store());
        }
    }
}
