package io.leasehold.engine;

import io.leasehold.LossCause;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One lease from its grant to exactly one end: held → (at risk →) lost, or released. Pure: events and the time come
 * in, actions go out.
 *
 * <p>Invariants. Once ended, never held again, whatever arrives late. At most one renewal is in flight. After a
 * release was asked for, no renewal is. The validity only ever moves forward.
 */
final class GrantMachine {

    /** What happens to a lease. */
    sealed interface Event {}

    /** The time for a renewal has come, or the holder asks for one. */
    record RenewDue(boolean byHand) implements Event {}

    /** The store has extended it; the ttl counts from {@code sentAtNanos}. */
    record Renewed(long sentAtNanos) implements Event {}

    /** A renewal failed. */
    record RenewFailed() implements Event {}

    /** The end may have come. */
    record EndDue() implements Event {}

    /** It is known from outside that the lease is over. */
    record TakenAway(LossCause cause) implements Event {}

    /** The store has answered that the hold is gone. */
    record Denied() implements Event {}

    /** It is said that an operator took it, which the store's answer to the next renewal will show. */
    record SuspectedForce() implements Event {}

    /** The holder gives it back. */
    record ReleaseCalled() implements Event {}

    /** The client closes, and the holder has not given it back in time. */
    record Deserted() implements Event {}

    /** A renewal that {@link #beginSending} allowed has left, in order, for the store. */
    record RenewalSent() implements Event {}

    /** The holder is gone: no more renewals, and this is the cause when the validity ends. */
    record Abandoned(LossCause cause) implements Event {}

    /** The machine was suspended: the monotonic clock has not counted, so nothing is known until a renewal succeeds. */
    record Suspended() implements Event {}

    /** The store has lost contact to what keeps the lease; the next renewal will tell. */
    record ContactLost() implements Event {}

    /** What the shell is to do. */
    sealed interface Action {}

    /** Send a renewal. */
    record Renew(boolean byHand) implements Action {}

    /** Tell whoever asked for a renewal that there is none any more. */
    record RefuseRenewal(LossCause why) implements Action {}

    /** Send {@link RenewDue} at this time. */
    record ArmRenew(long atNanos) implements Action {}

    /** Send {@link EndDue} at this time. */
    record ArmEnd(long atNanos) implements Action {}

    /** Tell whoever listens that a renewal is late, or will be. */
    record TellAtRisk(long remainingNanos) implements Action {}

    /** Tell the listeners that the holder is gone: once, and only while the lock is held. */
    record TellAbandoned(LossCause cause) implements Action {}

    /** Tell whoever listens that the lease is lost. */
    record TellLost(LossCause cause) implements Action {}

    /**
     * End the owner token at the store.
     *
     * @param lost null if the lease was held until now, otherwise why it had ended before
     */
    record SendRelease(@Nullable LossCause lost) implements Action {}

    /** It was lost, and its lock delay runs: the store keeps it until that is over, and is told nothing. */
    record LeaveToEnd(LossCause lost) implements Action {}

    private enum State {
        HELD,
        LOST,
        RELEASED
    }

    /** Between the tries to confirm what a suspension has made doubtful, and nothing else renews: doubled each time. */
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
    /** Renewals of our own that were sent since the validity last moved; those of the holder's are the holder's to count. */
    private int tries;

    private boolean atRisk;
    private boolean unconfirmed;
    private long unconfirmedAtNanos;
    private int confirmTries;
    /** The renewal that is in flight left before the suspension, whose length its sending time does not show. */
    private boolean outdated;

    /** It is said that an operator took it, and nothing that was sent since has shown that it stands. */
    private boolean suspectedForce;
    /** The renewal in flight left before that was said. */
    private boolean askAgain;

    private boolean sending;
    /** The end that waits for a renewal to leave. */
    private @Nullable Action pending;
    /** Why renewals have stopped, if they have. */
    private @Nullable LossCause stopped;

    private @Nullable LossCause cause;

    GrantMachine(Timings timings, long sentAtNanos, long nowNanos) {
        this.timings = timings;
        this.acquiredAtNanos = nowNanos;
        this.validUntilAtNanos = sentAtNanos + timings.validityNanos();
    }

    /** What to arm when it begins; the first renewal comes up to a tenth of the interval early, at random. */
    List<Action> begin(long sentAtNanos, long random) {
        Action end = new ArmEnd(validUntilAtNanos);
        if (!timings.renewed()) {
            return List.of(end);
        }
        long early = timings.renewalNanos() / 10 * random / WaitPolicy.ONE;
        armed = true;
        return List.of(end, new ArmRenew(sentAtNanos + timings.renewalNanos() - early));
    }

    /** Takes in an event and says what to do, in this order. */
    List<Action> on(Event event, long nowNanos) {
        List<Action> actions = new ArrayList<>(2);
        if (state == State.HELD && nowNanos - validUntilAtNanos >= 0) {
            lose(stopped != null ? stopped : LossCause.EXPIRED, actions);
        }
        if (event instanceof RenewDue due) {
            renewDue(due, nowNanos, actions);
        } else if (event instanceof Renewed renewed) {
            renewed(renewed.sentAtNanos(), nowNanos, actions);
        } else if (event instanceof RenewFailed) {
            renewFailed(nowNanos, actions);
        } else if (event instanceof TakenAway away) {
            lose(away.cause(), actions);
        } else if (event instanceof Denied) {
            lose(suspectedForce ? LossCause.FORCE_RELEASED : LossCause.NOT_OURS, actions);
        } else if (event instanceof SuspectedForce) {
            suspectedForce(actions);
        } else if (event instanceof ReleaseCalled) {
            release(true, actions);
        } else if (event instanceof Deserted) {
            release(false, actions);
        } else if (event instanceof RenewalSent) {
            renewalSent(actions);
        } else if (event instanceof Abandoned abandoned) {
            abandoned(abandoned.cause(), actions);
        } else if (event instanceof Suspended) {
            suspended(nowNanos, actions);
        } else if (event instanceof ContactLost) {
            contactLost(nowNanos, actions);
        } else if (state == State.HELD) {
            actions.add(new ArmEnd(validUntilAtNanos));
        }
        return actions;
    }

    private void renewDue(RenewDue due, long nowNanos, List<Action> actions) {
        armed &= due.byHand();
        if (state != State.HELD || renewing) {
            return;
        }
        if (!due.byHand() && !unconfirmed && !timings.renewed()) {
            // The timer of a confirmation that a renewal by hand has brought meanwhile.
            return;
        }
        if (unconfirmed && mayConfirm()) {
            // Until it is answered nobody may rely on it: neither the tries nor maxHold, which caps the answer, end
            // that.
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
            // The last one has failed: what is left of the validity is all there is.
            tellAtRisk(nowNanos, actions);
            return;
        }
        renew(due.byHand(), actions);
    }

    private void renew(boolean byHand, List<Action> actions) {
        renewing = true;
        renewingByHand = byHand;
        tries += byHand ? 0 : 1;
        actions.add(new Renew(byHand));
    }

    private void arm(long atNanos, List<Action> actions) {
        armed = true;
        actions.add(new ArmRenew(atNanos));
    }

    private void renewed(long sentAtNanos, long nowNanos, List<Action> actions) {
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
            // A renewal that waited for others to share its request must not carry the hold beyond its cap.
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

    /** Also at its cap, which the answer does not move: its holder would else believe it for a whole validity. */
    private void suspectedForce(List<Action> actions) {
        suspectedForce = true;
        askAgain = renewing;
        if (state == State.HELD && !renewing && mayConfirm()) {
            renew(true, actions);
        }
    }

    private void renewFailed(long nowNanos, List<Action> actions) {
        renewing = false;
        outdated = false;
        askAgain = false;
        if (state != State.HELD) {
            return;
        }
        if (unconfirmed) {
            armConfirmation(nowNanos, actions);
        } else if (timings.renewed() && !(armed && renewingByHand)) {
            // A renewal that the holder asked for does not delay the next automatic one.
            arm(nowNanos + timings.renewalRetryNanos(), actions);
        }
        tellIfAtRisk(nowNanos, actions);
    }

    /** The next try to confirm: of a lease that nothing else renews, too. */
    private void armConfirmation(long nowNanos, List<Action> actions) {
        long pauseNanos = Math.min(MAX_CONFIRM_NANOS, FIRST_CONFIRM_NANOS << Math.min(confirmTries++, 10));
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
        if (state == State.HELD && mayConfirm()) {
            stopped = why;
            actions.add(new TellAbandoned(why));
        }
    }

    private void contactLost(long nowNanos, List<Action> actions) {
        if (state == State.HELD) {
            tellAtRisk(nowNanos, actions);
        }
    }

    private void tellAtRisk(long nowNanos, List<Action> actions) {
        if (!atRisk) {
            atRisk = true;
            actions.add(new TellAtRisk(validUntilAtNanos - nowNanos));
        }
    }

    private void release(boolean byHolder, List<Action> actions) {
        if (state == State.RELEASED) {
            return;
        }
        LossCause lost = state == State.LOST ? cause : null;
        state = State.RELEASED;
        Action end = lost != null && isDelayed(lost, byHolder) ? new LeaveToEnd(lost) : new SendRelease(lost);
        if (sending) {
            pending = end;
        } else {
            actions.add(end);
        }
    }

    /** A lost holder may have been at work until now, although it gives back what it has lost. */
    private boolean isDelayed(LossCause lost, boolean byHolder) {
        boolean inOrder = lost == LossCause.FORCE_RELEASED || (lost == LossCause.CLIENT_CLOSED && byHolder);
        return timings.delayed() && !inOrder;
    }

    private void renewalSent(List<Action> actions) {
        sending = false;
        if (pending != null) {
            actions.add(pending);
            pending = null;
        }
    }

    private void suspended(long nowNanos, List<Action> actions) {
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

    private void confirm(List<Action> actions) {
        if (mayConfirm()) {
            renew(false, actions);
        }
    }

    /** Also a lease that has reached maxHold is valid up to it; one whose holder is gone is left to end. */
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
     * Whether a renewal may be sent now; if so, {@link RenewalSent} must follow, and a release that is called in
     * between waits for it: so no renewal is ever sent after the release.
     */
    boolean beginSending() {
        sending = state == State.HELD;
        return sending;
    }

    private void lose(LossCause why, List<Action> actions) {
        if (state != State.HELD) {
            return;
        }
        state = State.LOST;
        cause = why;
        actions.add(new TellLost(why));
    }

    /** Why it was lost, also after its release; null if it was not. */
    @Nullable
    LossCause cause() {
        return cause;
    }

    /** Whether it is held, and nothing was heard of it since a suspension. */
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

    long acquiredAtNanos() {
        return acquiredAtNanos;
    }
}
