package io.leasehold.engine;

import io.leasehold.LossCause;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The checks of one lease that wait for a renewal, which they share. Pure: called after each event of the grant's
 * machine.
 *
 * <p>Each check is answered exactly once, at the first of these events:
 *
 * <ul>
 * <li>enough validity is left;
 * <li>a renewal that was sent after the check has been answered;
 * <li>the time limit of that renewal has passed;
 * <li>the lease ends.
 * </ul>
 *
 * <p>A renewal that was sent before the check counts only if it is enough; if it is not, another one follows.
 */
final class WaitingChecks {

    /** One caller's check. */
    interface Check {

        /** Returns the validity that the caller needs. */
        long neededNanos();

        /** Receives the answer. */
        void answered(Verdict verdict);
    }

    /** The answer to a check. */
    sealed interface Verdict {}

    /** Enough validity was left. */
    record Passed() implements Verdict {}

    /** The store has answered the renewal, and less is left. */
    record TooLittle() implements Verdict {}

    /** The renewal has failed. */
    record Failed() implements Verdict {}

    /** The renewal was not answered within the store's time limit. */
    record Unanswered() implements Verdict {}

    /** No renewal is sent any more. */
    record RenewedNoMore(LossCause why) implements Verdict {}

    /** The lease was lost. */
    record Lost(LossCause cause) implements Verdict {}

    /** The lease was released. */
    record GivenBack() implements Verdict {}

    /** An action for the shell. */
    sealed interface Step extends GrantMachine.ForChecks {}

    /** Answer this check. */
    record Answer(Check check, Verdict verdict) implements Step {}

    /** Send the renewal that is waiting for others to share its request. */
    record Hurry() implements Step {}

    /** Arm the timer for the {@linkplain #firstLimitAtNanos() first time limit}, or disarm it if no check waits. */
    record LimitMoved() implements Step {}

    private static final class Waiting {
        private final Check check;
        /** The number of the first renewal whose answer is final for this check. */
        private final int renewal;

        private long limitAtNanos;

        Waiting(Check check, int renewal) {
            this.check = check;
            this.renewal = renewal;
        }
    }

    private final long answerNanos;
    private final List<Waiting> waiting = new ArrayList<>(1);
    /** The number of the renewal from whose start the limits count. */
    private int limited;

    /**
     * Begins without a check.
     *
     * @param answerNanos how long the store may take to answer a renewal
     */
    WaitingChecks(long answerNanos) {
        this.answerNanos = answerNanos;
    }

    /** Adds the check of a caller. */
    void asked(Check check, GrantMachine machine, long nowNanos, List<GrantMachine.Action> actions) {
        // A renewal that was not sent yet will be sent after this moment.
        Waiting one = new Waiting(check, machine.renewals() + (machine.isToLeave() ? 0 : 1));
        one.limitAtNanos = nowNanos + answerNanos;
        waiting.add(one);
        decide(new TooLittle(), machine, nowNanos, actions);
    }

    /** Answers the checks that an event has decided, after the machine has processed it. */
    void after(GrantMachine.Event event, GrantMachine machine, long nowNanos, List<GrantMachine.Action> actions) {
        if (!waiting.isEmpty()) {
            Verdict answer = event instanceof GrantMachine.RenewFailed ? new Failed() : new TooLittle();
            decide(answer, machine, nowNanos, actions);
        }
    }

    /** Answers all checks because the lease was released, although the grant may continue. */
    void givenBack(List<GrantMachine.Action> actions) {
        if (!waiting.isEmpty()) {
            answerAll(new GivenBack(), actions);
            actions.add(new LimitMoved());
        }
    }

    /** Removes the check of a caller that no longer waits. */
    void withdrawn(Check check, List<GrantMachine.Action> actions) {
        if (waiting.removeIf(one -> one.check == check)) {
            actions.add(new LimitMoved());
        }
    }

    private void decide(Verdict answer, GrantMachine machine, long nowNanos, List<GrantMachine.Action> actions) {
        for (Iterator<Waiting> all = waiting.iterator(); all.hasNext(); ) {
            Waiting one = all.next();
            Verdict verdict = verdict(one, answer, machine, nowNanos);
            if (verdict != null) {
                all.remove();
                actions.add(new Answer(one.check, verdict));
            }
        }
        if (!waiting.isEmpty()) {
            if (machine.isToLeave()) {
                actions.add(new Hurry());
            } else if (!machine.isRenewing()) {
                renew(machine, nowNanos, actions);
            }
            limit(machine, nowNanos);
        }
        actions.add(new LimitMoved());
    }

    private static @Nullable Verdict verdict(Waiting one, Verdict answer, GrantMachine machine, long nowNanos) {
        if (!machine.isHeld()) {
            return end(machine);
        }
        long leftNanos = machine.remainingNanos(nowNanos);
        if (leftNanos > 0 && leftNanos >= one.check.neededNanos()) {
            return new Passed();
        }
        if (!machine.isRenewing() && machine.renewals() - one.renewal >= 0) {
            return answer;
        }
        return nowNanos - one.limitAtNanos >= 0 ? new Unanswered() : null;
    }

    private static Verdict end(GrantMachine machine) {
        LossCause cause = machine.cause();
        return cause == null ? new GivenBack() : new Lost(cause);
    }

    private void renew(GrantMachine machine, long nowNanos, List<GrantMachine.Action> actions) {
        for (GrantMachine.Action action : machine.on(new GrantMachine.RenewDue(true), nowNanos)) {
            if (action instanceof GrantMachine.RefuseRenewal refused) {
                answerAll(new RenewedNoMore(refused.why()), actions);
            } else {
                actions.add(action);
            }
        }
        if (!machine.isHeld()) {
            answerAll(end(machine), actions);
        }
    }

    /** Moves the limits: each new renewal has the whole time limit of the store. */
    private void limit(GrantMachine machine, long nowNanos) {
        if (limited != machine.renewals()) {
            limited = machine.renewals();
            waiting.forEach(one -> one.limitAtNanos = nowNanos + answerNanos);
        }
    }

    private void answerAll(Verdict verdict, List<GrantMachine.Action> actions) {
        waiting.forEach(one -> actions.add(new Answer(one.check, verdict)));
        waiting.clear();
    }

    /** Whether no check waits. */
    boolean isEmpty() {
        return waiting.isEmpty();
    }

    /** Returns the first time limit of the waiting checks; at least one must wait. */
    long firstLimitAtNanos() {
        long first = waiting.get(0).limitAtNanos;
        for (Waiting one : waiting) {
            first = one.limitAtNanos - first < 0 ? one.limitAtNanos : first;
        }
        return first;
    }
}
