package io.leasehold.engine;

import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.spi.ReleaseReply;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One grant from its beginning to exactly one end: held → (at risk →) lost, or released. Pure: events and the time come
 * in, actions go out.
 *
 * <p>Invariants. Once ended, a grant is never held again, even if replies arrive late. At most one renewal is in
 * flight. No renewal follows a release. The validity only moves forward.
 */
final class GrantMachine {

    /** An event of a grant. */
    sealed interface Event {}

    /** A renewal is due, or the holder requests one. */
    record RenewDue(boolean byHand) implements Event {}

    /** A renewal that {@link #beginSending} allowed was sent, in order, to the store. Its answer says so, too. */
    record RenewalSent() implements Event {}

    /** The store has extended the grant; the ttl counts from {@code sentAtNanos}. */
    record Renewed(long sentAtNanos) implements Event {}

    /** A renewal failed. */
    record RenewFailed() implements Event {}

    /** The store has answered that the hold is gone. */
    record Denied() implements Event {}

    /** The end may have come. */
    record EndDue() implements Event {}

    /** Another source has reported that the lease is over. */
    record TakenAway(LossCause cause) implements Event {}

    /** A signal claims that an operator took the lock; the answer to the next renewal will confirm or refute that. */
    record SuspectedForce() implements Event {}

    /** A signal claims that the hold is gone; the answer to the next renewal will confirm or refute that. */
    record Doubted() implements Event {}

    /** The holder is gone: no more renewals, and this is the cause when the validity ends. */
    record Abandoned(LossCause cause) implements Event {}

    /** The machine was suspended. The monotonic clock did not count, so nothing is known until a renewal succeeds. */
    record Suspended() implements Event {}

    /** The store has lost contact with the session that keeps the lease; the next renewal decides. */
    record ContactLost() implements Event {}

    /** The holder releases the lease. */
    record ReleaseCalled(Keeping keeping) implements Event {}

    /** The holder exports the lease. */
    record ExportCalled(Export export, Keeping keeping) implements Event {}

    /** An export that the shell sends. */
    interface Export {}

    /** The client closes, and the holder has not released the lease in time. */
    record Deserted(Keeping keeping) implements Event {}

    /**
     * The time during which other clients must not have the lock, however its lease ends.
     *
     * @param fromAtNanos when the lease began
     * @param forNanos {@code LockOptions.atLeast}; zero for a lease that no caller has seen
     */
    record Keeping(long fromAtNanos, long forNanos) {

        /** Whether the time has not ended yet. Zero keeps nothing, even if the clock has gone back since. */
        boolean isOn(long nowNanos) {
            return forNanos > 0 && fromAtNanos + forNanos - nowNanos > 0;
        }
    }

    /** An action for the shell. */
    sealed interface Action {}

    /** Send a renewal. */
    record Renew(boolean byHand) implements Action {}

    /** Send a renewal at once, together with those of the other grants that are doubted at the same time. */
    record Verify() implements Action {}

    /** Notify the callers that requested a renewal that none will follow. */
    record RefuseRenewal(LossCause why) implements Action {}

    /**
     * Send {@link RenewDue} at this time, or earlier with the renewals of other grants.
     *
     * @param togetherAtNanos when it may be sent with others at the earliest
     */
    record ArmRenew(long atNanos, long togetherAtNanos) implements Action {}

    /** Send {@link EndDue} at this time. */
    record ArmEnd(long atNanos) implements Action {}

    /** Notify the listeners that a renewal is late, or will be late. */
    record TellAtRisk(long remainingNanos) implements Action {}

    /** Notify the listeners that the holder is gone: once, and only while the lock is held. */
    record TellAbandoned(LossCause cause) implements Action {}

    /** Notify the listeners that the lease is lost. */
    record TellLost(LossCause cause) implements Action {}

    /** A step for the checks that wait for a renewal: see {@link WaitingChecks}. */
    non-sealed interface ForChecks extends Action {}

    /** The end at the store: the last action of a grant. */
    sealed interface End extends Action {}

    /** The grant was held until now: release it, and report the outcome to the holder. */
    record SendRelease() implements End {}

    /** The grant was held until now: send its export. */
    record SendExport(Export export, long validUntilAtNanos) implements End {}

    /** The grant was lost before: free what the store may still keep of it, and report the loss to the holder. */
    record SendUndo() implements End {}

    /**
     * The grant was lost before, and the store keeps nothing of it, or keeps it until its own end: only report the loss
     * to the holder.
     */
    record LeaveToEnd() implements End {}

    private static final long MIN_RETRY_NANOS = 1_000_000;

    private final Timings timings;
    private final long acquiredAtNanos;
    private long validUntilAtNanos;
    private boolean renewing;
    /** The number of renewals that have begun, including the current one. */
    private int renewals;
    /** Whether the current renewal has not begun to be sent to the store. */
    private boolean toLeave;
    /** Whether the holder requested the renewal in flight. */
    private boolean renewingByHand;
    /** Whether the next renewal is armed, and not yet due. */
    private boolean armed;
    /**
     * The automatic renewals that were sent since the validity last moved; those requested by the holder do not count.
     */
    private int tries;

    private boolean atRisk;
    /** Null while there are none: nearly always. */
    private @Nullable GrantDoubts doubts;

    /** Whether the lease began from a message and no renewal has succeeded: the store keeps the lock for the claim only. */
    private boolean claimed;

    private boolean sending;
    /** The end that waits until a renewal is sent. */
    private @Nullable End pending;
    /** The reason why renewals have stopped, if they have. */
    private @Nullable LossCause stopped;

    /** The reason why the grant was lost, if it was. */
    private @Nullable LossCause cause;

    private boolean released;

    GrantMachine(Timings timings, long sentAtNanos, long nowNanos) {
        this(timings, sentAtNanos, 0, nowNanos);
    }

    /**
     * Creates a grant.
     *
     * @param claimNanos the time for which the store keeps the lock, if the grant begins from a message; zero if the
     *     store has granted the ttl
     */
    GrantMachine(Timings timings, long sentAtNanos, long claimNanos, long nowNanos) {
        this.timings = timings;
        this.acquiredAtNanos = nowNanos;
        this.claimed = claimNanos > 0;
        this.validUntilAtNanos =
                sentAtNanos + (claimed ? timings.claimValidityNanos(claimNanos) : timings.validityNanos());
    }

    long acquiredAtNanos() {
        return acquiredAtNanos;
    }

    /**
     * Returns the actions that begin the grant. The first renewal is up to a tenth of the interval early, at random. A
     * grant that begins from a message is renewed at once, and again soon if that fails.
     */
    List<Action> begin(long random) {
        Action end = new ArmEnd(validUntilAtNanos);
        if (claimed) {
            List<Action> actions = new ArrayList<>(List.of(end));
            renew(false, actions);
            return actions;
        }
        if (!timings.renewed()) {
            return List.of(end);
        }
        long early = timings.renewalNanos() / 10 * random / WaitPolicy.ONE;
        armed = true;
        long sentAtNanos = validUntilAtNanos - timings.validityNanos();
        long atNanos = sentAtNanos + timings.renewalNanos() - early;
        return List.of(end, new ArmRenew(atNanos, atNanos - timings.togetherNanos()));
    }

    /** Processes an event and returns the actions, in the order in which to perform them. */
    List<Action> on(Event event, long nowNanos) {
        List<Action> actions = new ArrayList<>(2);
        if (isHeld() && nowNanos - validUntilAtNanos >= 0) {
            lose(stopped != null ? stopped : LossCause.EXPIRED, actions);
        }
        if (event instanceof ReleaseCalled called) {
            release(true, called.keeping().isOn(nowNanos), actions);
        } else if (event instanceof ExportCalled called) {
            boolean isKept = called.keeping().isOn(nowNanos);
            end(isHeld() ? new SendExport(called.export(), validUntilAtNanos) : endOfLost(true, isKept), actions);
        } else if (event instanceof Deserted deserted) {
            release(false, deserted.keeping().isOn(nowNanos), actions);
        } else if (event instanceof RenewalSent) {
            renewalSent(actions);
        } else {
            if (isAnswer(event)) {
                // An Error may have kept the shell from the report that it was sent.
                renewalSent(actions);
            }
            if (isHeld()) {
                whileHeld(event, nowNanos, actions);
            }
        }
        return actions;
    }

    private static boolean isAnswer(Event event) {
        return event instanceof Renewed || event instanceof RenewFailed || event instanceof Denied;
    }

    private void whileHeld(Event event, long nowNanos, List<Action> actions) {
        if (event instanceof RenewDue due) {
            renewDue(due, nowNanos, actions);
        } else if (event instanceof Renewed renewed) {
            renewed(renewed.sentAtNanos(), nowNanos, actions);
        } else if (event instanceof RenewFailed) {
            renewFailed(nowNanos, actions);
        } else if (event instanceof TakenAway away) {
            lose(away.cause(), actions);
        } else if (event instanceof Denied) {
            lose(doubts != null && doubts.suspectsForce() ? LossCause.FORCE_RELEASED : LossCause.NOT_OURS, actions);
        } else if (event instanceof SuspectedForce) {
            doubts().suspectForce();
            doubted(new Renew(true), actions);
        } else if (event instanceof Doubted) {
            doubted(new Verify(), actions);
        } else if (event instanceof Abandoned abandoned) {
            abandoned(abandoned.cause(), actions);
        } else if (event instanceof Suspended) {
            suspended(nowNanos, actions);
        } else if (event instanceof ContactLost) {
            tellAtRisk(nowNanos, actions);
        } else {
            actions.add(new ArmEnd(validUntilAtNanos));
        }
    }

    private void renewDue(RenewDue due, long nowNanos, List<Action> actions) {
        armed &= due.byHand();
        if (renewing) {
            return;
        }
        if (!due.byHand() && !isInDoubt() && !timings.renewed()) {
            // This is the timer of a confirmation, and a renewal by hand has confirmed the lease in the meantime.
            return;
        }
        if (isInDoubt() && mayConfirm()) {
            // Renew until the store has answered. Neither the tries nor maxHold, which caps the answer, end that.
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
            // The last try has failed: only the rest of the validity remains.
            tellAtRisk(nowNanos, actions);
            return;
        }
        renew(due.byHand(), actions);
    }

    private void renew(boolean byHand, List<Action> actions) {
        renew(byHand, new Renew(byHand), actions);
    }

    private void renew(boolean byHand, Action ask, List<Action> actions) {
        renewing = true;
        renewals++;
        toLeave = true;
        renewingByHand = byHand;
        tries += byHand ? 0 : 1;
        actions.add(ask);
    }

    /** Arms a renewal that follows none which succeeded: its pause is kept. */
    private void arm(long atNanos, List<Action> actions) {
        arm(atNanos, atNanos, actions);
    }

    private void arm(long atNanos, long togetherAtNanos, List<Action> actions) {
        armed = true;
        actions.add(new ArmRenew(atNanos, togetherAtNanos));
    }

    private void renewed(long sentAtNanos, long nowNanos, List<Action> actions) {
        renewing = false;
        if (doubts != null && doubts.takeOutdated()) {
            confirm(actions);
            refuseIfStopped(actions);
            return;
        }
        if (doubts != null && doubts.isFromBefore(sentAtNanos)) {
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
        claimed = false;
        tries = 0;
        if (timings.renewed()) {
            long nextAtNanos = Math.max(sentAtNanos + timings.renewalNanos() - nowNanos, 0) + nowNanos;
            arm(nextAtNanos, nextAtNanos - timings.togetherNanos(), actions);
        }
        settleDoubts(actions);
    }

    private void settleDoubts(List<Action> actions) {
        if (doubts == null) {
            return;
        }
        doubts.renewed();
        if (doubts.asksAgain() && mayConfirm()) {
            doubts.askedAgain();
            renew(true, actions);
        }
        doubts = doubts.isOn() ? doubts : null;
    }

    /** Returns the doubts; creates them where there were none. */
    private GrantDoubts doubts() {
        doubts = doubts == null ? new GrantDoubts() : doubts;
        return doubts;
    }

    /** Asks the store, even at the cap: otherwise, the holder would rely on the lease for its whole validity. */
    private void doubted(Action ask, List<Action> actions) {
        doubts().doubted(renewing);
        if (!renewing && mayConfirm()) {
            renew(true, ask, actions);
        }
    }

    private void renewFailed(long nowNanos, List<Action> actions) {
        renewing = false;
        if (doubts != null) {
            doubts.renewFailed();
        }
        if (isInDoubt()) {
            armConfirmation(nowNanos, actions);
        } else if (timings.renewed() && !(armed && renewingByHand)) {
            // A renewal that the holder requested does not delay the next automatic one.
            arm(nowNanos + timings.renewalRetryNanos(validUntilAtNanos - nowNanos, tries), actions);
        }
        tellIfAtRisk(nowNanos, actions);
    }

    /** Arms the next confirmation, also for a lease that nothing else renews. */
    private void armConfirmation(long nowNanos, List<Action> actions) {
        long pauseNanos = doubts().nextPauseNanos();
        if (timings.renewed()) {
            pauseNanos = Math.min(pauseNanos, timings.renewalRetryNanos());
        }
        arm(nowNanos + Math.max(MIN_RETRY_NANOS, pauseNanos), actions);
    }

    private void tellIfAtRisk(long nowNanos, List<Action> actions) {
        if (validUntilAtNanos - nowNanos < timings.riskNanos()) {
            tellAtRisk(nowNanos, actions);
        }
    }

    private void abandoned(LossCause why, List<Action> actions) {
        if (mayConfirm()) {
            stopped = why;
            actions.add(new TellAbandoned(why));
        }
    }

    private void tellAtRisk(long nowNanos, List<Action> actions) {
        if (!atRisk) {
            atRisk = true;
            actions.add(new TellAtRisk(validUntilAtNanos - nowNanos));
        }
    }

    private void release(boolean byHolder, boolean isKept, List<Action> actions) {
        end(isHeld() ? new SendRelease() : endOfLost(byHolder, isKept), actions);
    }

    /** Ends the grant at the store, once. If a renewal is being sent, the end follows it. */
    private void end(End end, List<Action> actions) {
        if (released) {
            return;
        }
        released = true;
        if (sending) {
            pending = end;
        } else {
            actions.add(end);
        }
    }

    /**
     * Returns the end of a lost lease. Once the holder is done, the rest may be freed, even after an expiry, unless the
     * lock must stay taken. If an operator ended the lease, the lock is free in any case.
     */
    private End endOfLost(boolean byHolder, boolean isKept) {
        boolean inOrder = cause == LossCause.FORCE_RELEASED || (cause == LossCause.CLIENT_CLOSED && byHolder);
        // A holder that lost its lease may have worked until now, although it releases the lease.
        boolean isDelayed = timings.delayed() && !inOrder;
        boolean staysTaken = isDelayed || (isKept && cause != LossCause.FORCE_RELEASED);
        // A store that denies a hand-over may still have the place of the waiter: one that became the primary without
        // it.
        boolean keepsNothing = cause == LossCause.NOT_OURS && !claimed;
        return staysTaken || keepsNothing ? new LeaveToEnd() : new SendUndo();
    }

    /**
     * Returns the outcome for the holder. A store that does not know the hold is trusted only while it must have known
     * it.
     */
    ReleaseOutcome outcome(ReleaseReply reply, long nowNanos) {
        if (reply instanceof ReleaseReply.Released) {
            return ReleaseOutcome.RELEASED;
        }
        boolean inTime = nowNanos - validUntilAtNanos < 0;
        return reply instanceof ReleaseReply.NotOurs && inTime
                ? ReleaseOutcome.ALREADY_LOST
                : ReleaseOutcome.UNCONFIRMED;
    }

    private void renewalSent(List<Action> actions) {
        sending = false;
        if (pending != null) {
            actions.add(pending);
            pending = null;
        }
    }

    private void suspended(long nowNanos, List<Action> actions) {
        doubts().suspended(nowNanos, renewing);
        if (!renewing) {
            confirm(actions);
        }
    }

    private void confirm(List<Action> actions) {
        if (mayConfirm()) {
            renew(false, actions);
        }
    }

    /**
     * Whether the store may be asked to confirm the lease. A lease that has reached maxHold is valid up to it, so the
     * store may be asked. A lease whose holder is gone is left to end.
     */
    private boolean mayConfirm() {
        return stopped == null || stopped == LossCause.MAX_HOLD;
    }

    private void refuseIfStopped(List<Action> actions) {
        LossCause why = stopped;
        if (why != null && !mayConfirm()) {
            actions.add(new RefuseRenewal(why));
        }
    }

    /**
     * Whether a renewal may be sent now; if so, {@link RenewalSent} or the answer must follow. A release that is called
     * in between waits for the first of these events, so no renewal is ever sent after the release. The shell reports the
     * sending before it waits for the answer: a late report could be taken for that of the next renewal.
     */
    boolean beginSending() {
        sending = isHeld();
        toLeave = false;
        return sending;
    }

    private void lose(LossCause why, List<Action> actions) {
        // Last, since a loss that has a cause is reported no more.
        actions.add(new TellLost(why));
        cause = why;
    }

    /** Returns why the lease was lost, even after its release; null if it was not lost. */
    @Nullable
    LossCause cause() {
        return cause;
    }

    /**
     * Whether the store is asked until it has answered: after a suspension or a signal that the hold is gone, only the
     * store knows if the lease is held; a claim is too short to wait for the next renewal.
     */
    private boolean isInDoubt() {
        return claimed || (doubts != null && doubts.isOn());
    }

    /** Whether no renewal has succeeded since the grant began from a message. */
    boolean isClaimed() {
        return claimed;
    }

    /** Whether the grant is held, and no renewal has confirmed it since a suspension. */
    boolean isUnconfirmed() {
        return isHeld() && doubts != null && doubts.isUnconfirmed();
    }

    /** Returns the number of renewals that have begun. */
    int renewals() {
        return renewals;
    }

    /** Whether a renewal is not answered yet. */
    boolean isRenewing() {
        return renewing;
    }

    /** Whether a renewal has begun, and was not yet sent to the store. */
    boolean isToLeave() {
        return renewing && toLeave;
    }

    /** Whether a risk was reported, and no renewal has succeeded since. */
    boolean isAtRisk() {
        return atRisk;
    }

    /** Whether a renewal could still succeed. */
    boolean isHeld() {
        return cause == null && !released;
    }

    /** Whether the end at the store is decided; the grant may have been lost before. */
    boolean isReleased() {
        return released;
    }

    /**
     * Returns the validity left, never negative. Zero after the end, and after a suspension until a renewal has
     * confirmed the lease.
     */
    long remainingNanos(long nowNanos) {
        return isHeld() && !isUnconfirmed() ? Math.max(0, validUntilAtNanos - nowNanos) : 0;
    }

    /** Returns the time until which the grant is or was valid, unless it ended before. */
    long validUntilAtNanos() {
        return validUntilAtNanos;
    }
}
