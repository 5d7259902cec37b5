package io.leasehold.engine;

import io.leasehold.spi.LockRuntime;
import org.jspecify.annotations.Nullable;

/**
 * The checks that wait at one grant: performs the steps of its {@link WaitingChecks}.
 *
 * <p>Guarded by the grant; steps are performed outside of the guard.
 */
final class GrantChecks {

    private final HeldGrant grant;
    private final WaitingChecks waiting;
    private LockRuntime.@Nullable Timer limit;

    GrantChecks(HeldGrant grant) {
        this.grant = grant;
        this.waiting = new WaitingChecks(grant.settings().timings().answerNanos());
    }

    /** The decisions; called under the guard. */
    WaitingChecks waiting() {
        return waiting;
    }

    void perform(WaitingChecks.Step step) {
        if (step instanceof WaitingChecks.Answer answer) {
            answer.check().answered(answer.verdict());
        } else if (step instanceof WaitingChecks.Hurry) {
            grant.context().renewals().hurry(grant.renewals());
        } else {
            // The limit of this moment: threads may perform their steps in another order than they were decided.
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

    /** Perhaps nothing else would answer those checks, so a look that failed is repeated. */
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
