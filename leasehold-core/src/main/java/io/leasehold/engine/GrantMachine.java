package io.leasehold.engine;

import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.engine.GrantAction.ArmEnd;
import io.leasehold.engine.GrantAction.ArmRenew;
import io.leasehold.engine.GrantAction.End;
import io.leasehold.engine.GrantAction.LeaveToEnd;
import io.leasehold.engine.GrantAction.RefuseRenewal;
import io.leasehold.engine.GrantAction.Renew;
import io.leasehold.engine.GrantAction.SendRelease;
import io.leasehold.engine.GrantAction.SendUndo;
import io.leasehold.engine.GrantAction.TellAbandoned;
import io.leasehold.engine.GrantAction.TellAtRisk;
import io.leasehold.engine.GrantAction.TellLost;
import io.leasehold.spi.ReleaseReply;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One grant from its beginning to exactly one end: held → (at risk →) lost, or released. Pure: events and the time come
 * in, actions go out.
 *
 * <p>Invariants. Once ended, it is never held again, even if replies arrive late. At most one renewal is in flight. No renewal
 * follows a release. The validity only ever moves forward.
 */
final class GrantMachine {

    private enum State {
        HELD,
        LOST,
        RELEASED
    }

    /** The delay between attempts to confirm a lease in doubt if nothing else renews it: doubled each time. */
    private static final long FIRST_CONFIRM_NANOS = 100_000_000;

    private static final long MIN_RETRY_NANOS = 1_000_000;
    private static final long MAX_CONFIRM_NANOS = 5_000_000_000L;

    private final Timings timings;
    private final long acquiredAtNanos;
    private State state = State.HELD;
    private long validUntilAtNanos;
    private boolean renewing;
    /** The renewal in flight is one that the holder asked for. */
    private boolean renewingByHand;
    /** The next renewal is armed, and has not come due. */
    private boolean armed;
    /** Automatic renewals that were sent since the validity last moved; those requested by the holder do not count. */
    private int tries;

    private boolean atRisk;
    private boolean unconfirmed;
    private long unconfirmedAtNanos;
    private int confirmTries;
    /** The renewal in flight was sent before the suspension, whose length its sending time does not show. */
    private boolean outdated;

    /** A signal claims that an operator took it, and no renewal sent since has refuted that. */
    private boolean suspectedForce;
    /** The renewal in flight was sent before that signal. */
    private boolean askAgain;

    private boolean sending;
    /** The end that waits for a renewal to leave. */
    private @Nullable End pending;
    /** Why renewals have stopped, if they have. */
    private @Nullable LossCause stopped;

    private @Nullable LossCause cause;

    GrantMachine(Timings timings, long sentAtNanos, long nowNanos) {
        this.timings = timings;
        this.acquiredAtNanos = nowNanos;
        this.validUntilAtNanos = sentAtNanos + timings.validityNanos();
    }

    /** The actions that begin the grant; the first renewal comes up to a tenth of the interval early, at random. */
    List<GrantAction> begin(long sentAtNanos, long random) {
        GrantAction end = new ArmEnd(validUntilAtNanos);
        if (!timings.renewed()) {
            return List.of(end);
        }
        long early = timings.renewalNanos() / 10 * random / WaitPolicy.ONE;
        armed = true;
        return List.of(end, new ArmRenew(sentAtNanos + timings.renewalNanos() - early));
    }

    /** Processes an event and returns the actions, in this order. */
    List<GrantAction> on(GrantEvent event, long nowNanos) {
        List<GrantAction> actions = new ArrayList<>(2);
        if (state == State.HELD && nowNanos - validUntilAtNanos >= 0) {
            lose(stopped != null ? stopped : LossCause.EXPIRED, actions);
        }
        if (event instanceof GrantEvent.RenewDue due) {
            renewDue(due, nowNanos, actions);
        } else if (event instanceof GrantEvent.Renewed renewed) {
            renewed(renewed.sentAtNanos(), nowNanos, actions);
        } else if (event instanceof GrantEvent.RenewFailed) {
            renewFailed(nowNanos, actions);
        } else if (event instanceof GrantEvent.TakenAway away) {
            lose(away.cause(), actions);
        } else if (event instanceof GrantEvent.Denied) {
            lose(suspectedForce ? LossCause.FORCE_RELEASED : LossCause.NOT_OURS, actions);
        } else if (event instanceof GrantEvent.SuspectedForce) {
            suspectedForce(actions);
        } else if (event instanceof GrantEvent.ReleaseCalled called) {
            release(true, called.keeping().isOn(nowNanos), actions);
        } else if (event instanceof GrantEvent.Deserted deserted) {
            release(false, deserted.keeping().isOn(nowNanos), actions);
        } else if (event instanceof GrantEvent.RenewalSent) {
            renewalSent(actions);
        } else if (event instanceof GrantEvent.Abandoned abandoned) {
            abandoned(abandoned.cause(), actions);
        } else if (event instanceof GrantEvent.Suspended) {
            suspended(nowNanos, actions);
        } else if (event instanceof GrantEvent.ContactLost) {
            tellAtRisk(nowNanos, actions);
        } else if (state == State.HELD) {
            actions.add(new ArmEnd(validUntilAtNanos));
        }
        return actions;
    }

    private void renewDue(GrantEvent.RenewDue due, long nowNanos, List<GrantAction> actions) {
        armed &= due.byHand();
        if (state != State.HELD || renewing) {
            return;
        }
        if (!due.byHand() && !isInDoubt() && !timings.renewed()) {
            // The timer of a confirmation; a renewal by hand has confirmed the lease meanwhile.
            return;
        }
        if (isInDoubt() && mayConfirm()) {
            // Until the store has answered: neither the tries nor maxHold, which caps the answer, end that.
            renew(due.byHand(), actions);
            return;
        }
        if (stopped == null && nowNanos - acquiredAtNanos > timings.maxHoldNanos() - timings.validityNanos()) {
            stopped = LossCause.MAX_HOLD;
        }
        if (stopped != null) {
            if (due.byHand()) {
                actions.add(new RefuseRenewal(stopped));
                return;
            }
            tellIfAtRisk(nowNanos, actions);
            if (!atRisk) {
                arm(nowNanos + Math.max(1, timings.renewalRetryNanos()), actions);
            }
            return;
        }
        if (!due.byHand() && tries >= timings.renewalTries()) {
            // The last one has failed: only the rest of the validity remains.
            tellAtRisk(nowNanos, actions);
            return;
        }
        renew(due.byHand(), actions);
    }

    private void renew(boolean byHand, List<GrantAction> actions) {
        renewing = true;
        renewingByHand = byHand;
        tries += byHand ? 0 : 1;
        actions.add(new Renew(byHand));
    }

    private void arm(long atNanos, List<GrantAction> actions) {
        armed = true;
        actions.add(new ArmRenew(atNanos));
    }

    private void renewed(long sentAtNanos, long nowNanos, List<GrantAction> actions) {
        renewing = false;
        if (state != State.HELD) {
            return;
        }
        if (outdated) {
            outdated = false;
            askAgain = false;
            confirm(actions);
            refuseIfStopped(actions);
            return;
        }
        if (unconfirmed && sentAtNanos - unconfirmedAtNanos < 0) {
            // A session's heartbeat from before the suspension.
            armConfirmation(nowNanos, actions);
            refuseIfStopped(actions);
            return;
        }
        long untilAtNanos = sentAtNanos + timings.validityNanos();
        if (untilAtNanos - acquiredAtNanos > timings.maxHoldNanos()) {
            // A renewal that waited for its batch must not extend the hold beyond its cap.
            untilAtNanos = acquiredAtNanos + timings.maxHoldNanos();
            stopped = stopped == null ? LossCause.MAX_HOLD : stopped;
        }
        if (untilAtNanos - validUntilAtNanos > 0) {
            validUntilAtNanos = untilAtNanos;
        }
        atRisk = false;
        unconfirmed = false;
        tries = 0;
        if (timings.renewed()) {
            long nextAtNanos = sentAtNanos + timings.renewalNanos();
            arm(nextAtNanos - nowNanos > 0 ? nextAtNanos : nowNanos, actions);
        }
        suspectedForce &= askAgain;
        if (askAgain && mayConfirm()) {
            askAgain = false;
            renew(true, actions);
        }
    }

    /** Asks the store, even at the cap: otherwise the holder would rely on the lease for its whole validity. */
    private void suspectedForce(List<GrantAction> actions) {
        suspectedForce = true;
        confirmTries = 0;
        askAgain = renewing;
        if (state == State.HELD && !renewing && mayConfirm()) {
            renew(true, actions);
        }
    }

    private void renewFailed(long nowNanos, List<GrantAction> actions) {
        renewing = false;
        outdated = false;
        askAgain = false;
        if (state != State.HELD) {
            return;
        }
        if (isInDoubt()) {
            armConfirmation(nowNanos, actions);
        } else if (timings.renewed() && !(armed && renewingByHand)) {
            // A renewal that the holder asked for does not delay the next automatic one.
            arm(nowNanos + timings.renewalRetryNanos(), actions);
        }
        tellIfAtRisk(nowNanos, actions);
    }

    /** Arms the next confirmation, also for a lease that nothing else renews. */
    private void armConfirmation(long nowNanos, List<GrantAction> actions) {
        long pauseNanos = Math.min(MAX_CONFIRM_NANOS, FIRST_CONFIRM_NANOS << Math.min(confirmTries++, 10));
        if (timings.renewed()) {
            pauseNanos = Math.min(pauseNanos, timings.renewalRetryNanos());
        }
        arm(nowNanos + Math.max(MIN_RETRY_NANOS, pauseNanos), actions);
    }

    private void tellIfAtRisk(long nowNanos, List<GrantAction> actions) {
        if (validUntilAtNanos - nowNanos < timings.riskNanos()) {
            tellAtRisk(nowNanos, actions);
        }
    }

    private void abandoned(LossCause why, List<GrantAction> actions) {
        if (state == State.HELD && mayConfirm()) {
            stopped = why;
            actions.add(new TellAbandoned(why));
        }
    }

    private void tellAtRisk(long nowNanos, List<GrantAction> actions) {
        if (state == State.HELD && !atRisk) {
            atRisk = true;
            actions.add(new TellAtRisk(validUntilAtNanos - nowNanos));
        }
    }

    private void release(boolean byHolder, boolean isKept, List<GrantAction> actions) {
        if (state == State.RELEASED) {
            return;
        }
        End end = state == State.LOST ? endOfLost(byHolder, isKept) : new SendRelease();
        state = State.RELEASED;
        if (sending) {
            pending = end;
        } else {
            actions.add(end);
        }
    }

    /**
     * The end of a lost lease. Once the holder is done, the rest may be freed, even after an expiry, unless the lock must stay
     * taken. A lease that an operator ended is free in any case.
     */
    private End endOfLost(boolean byHolder, boolean isKept) {
        boolean inOrder = cause == LossCause.FORCE_RELEASED || (cause == LossCause.CLIENT_CLOSED && byHolder);
        // A holder that lost its lease may have been at work until now, although it releases it.
        boolean isDelayed = timings.delayed() && !inOrder;
        boolean staysTaken = isDelayed || (isKept && cause != LossCause.FORCE_RELEASED);
        return staysTaken || cause == LossCause.NOT_OURS ? new LeaveToEnd() : new SendUndo();
    }

    /** The outcome for the holder: a store that does not know the hold is trusted only while it must have known it. */
    ReleaseOutcome outcome(ReleaseReply reply, long nowNanos) {
        if (reply instanceof ReleaseReply.Released) {
            return ReleaseOutcome.RELEASED;
        }
        boolean inTime = nowNanos - validUntilAtNanos < 0;
        return reply instanceof ReleaseReply.NotOurs && inTime
                ? ReleaseOutcome.ALREADY_LOST
                : ReleaseOutcome.UNCONFIRMED;
    }

    private void renewalSent(List<GrantAction> actions) {
        sending = false;
        if (pending != null) {
            actions.add(pending);
            pending = null;
        }
    }

    private void suspended(long nowNanos, List<GrantAction> actions) {
        if (state == State.HELD) {
            unconfirmed = true;
            unconfirmedAtNanos = nowNanos;
            confirmTries = 0;
            outdated = renewing;
            if (!renewing) {
                confirm(actions);
            }
        }
    }

    private void confirm(List<GrantAction> actions) {
        if (mayConfirm()) {
            renew(false, actions);
        }
    }

    /** A lease that has reached maxHold is valid up to it, so it may; one whose holder is gone is left to end. */
    private boolean mayConfirm() {
        return stopped == null || stopped == LossCause.MAX_HOLD;
    }

    private void refuseIfStopped(List<GrantAction> actions) {
        LossCause why = stopped;
        if (why != null && !mayConfirm()) {
            actions.add(new RefuseRenewal(why));
        }
    }

    /**
     * Whether a renewal may be sent now; if so, {@link GrantEvent.RenewalSent} must follow. A release that is called in
     * between waits for it, so that no renewal is ever sent after the release.
     */
    boolean beginSending() {
        sending = state == State.HELD;
        return sending;
    }

    private void lose(LossCause why, List<GrantAction> actions) {
        if (state != State.HELD) {
            return;
        }
        state = State.LOST;
        cause = why;
        actions.add(new TellLost(why));
    }

    /** Why it was lost, even after its release; null if it was not. */
    @Nullable
    LossCause cause() {
        return cause;
    }

    /** Whether only the store can say if it is held: after a suspension, or a signal that an operator took it. */
    private boolean isInDoubt() {
        return unconfirmed || suspectedForce;
    }

    /** Whether it is held, and no renewal has confirmed it since a suspension. */
    boolean isUnconfirmed() {
        return state == State.HELD && unconfirmed;
    }

    /** Whether a renewal could still succeed. */
    boolean isHeld() {
        return state == State.HELD;
    }

    /** Whether its end at the store is decided; it may have been lost before. */
    boolean isReleased() {
        return state == State.RELEASED;
    }

    /** The validity left, never negative; zero once ended, or while a suspension is not yet confirmed as survived. */
    long remainingNanos(long nowNanos) {
        return state == State.HELD && !unconfirmed ? Math.max(0, validUntilAtNanos - nowNanos) : 0;
    }

    /** Until when it was or is valid, unless it ended before. */
    long validUntilAtNanos() {
        return validUntilAtNanos;
    }
}
