package io.leasehold.engine;

import io.leasehold.spi.LockRuntime;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The checks that wait at one grant: performs the steps of its {@link WaitingChecks}.
 *
 * <p>The grant guards the fields; steps are performed outside of the guard.
 */
final class GrantChecks {

    private final HeldGrant grant;
    private final GrantMachine machine;
    private final WaitingChecks waiting;
    private LockRuntime.@Nullable Timer limit;

    GrantChecks(HeldGrant grant, GrantMachine machine) {
        this.grant = grant;
        this.machine = machine;
        this.waiting = new WaitingChecks(grant.settings().timings().answerNanos());
    }

    /** Returns the decisions; called under the guard. */
    WaitingChecks waiting() {
        return waiting;
    }

    /**
     * Asks for a check. A lease that was released, or is no longer the current one, must not pass by the validity of
     * the grant.
     */
    void ask(ActiveLease lease, WaitingChecks.Check check) {
        List<GrantMachine.Action> actions = new ArrayList<>(4);
        synchronized (grant) {
            if (grant.isFor(lease)) {
                waiting.asked(check, machine, grant.now(), actions);
            } else {
                actions.add(new WaitingChecks.Answer(check, new WaitingChecks.GivenBack()));
            }
        }
        grant.perform(actions);
    }

    /** The holder has released its lease: from now on, no check of that lease passes. */
    void givenBack() {
        List<GrantMachine.Action> actions = new ArrayList<>(1);
        synchronized (grant) {
            waiting.givenBack(actions);
        }
        grant.perform(actions);
    }

    void withdraw(WaitingChecks.Check check) {
        List<GrantMachine.Action> actions = new ArrayList<>(1);
        synchronized (grant) {
            waiting.withdrawn(check, actions);
        }
        grant.perform(actions);
    }

    void perform(WaitingChecks.Step step) {
        if (step instanceof WaitingChecks.Answer answer) {
            answer.check().answered(answer.verdict());
        } else if (step instanceof WaitingChecks.Hurry) {
            grant.context().renewals().hurry(grant.renewals());
        } else {
            // Read the limit at this moment: threads may perform their steps in another order than they were decided.
            armLimit();
        }
    }

    private void armLimit() {
        synchronized (grant) {
            limit = TimerQueue.cancelled(limit);
            if (!waiting.isEmpty()) {
                limit = grant.context().timeline().scheduleAt(waiting.firstLimitAtNanos(), this::limitReached);
            }
        }
    }

    /** Runs the checks at their limit. Nothing else may answer them, so a failed run is repeated. */
    private void limitReached() {
        try {
            grant.on(new GrantMachine.EndDue());
        } catch (RuntimeException | Error e) {
            synchronized (grant) {
                limit = grant.context().timeline().schedule(TimerQueue.CHECK_AGAIN_NANOS, this::limitReached);
            }
            throw e;
        }
    }
}
