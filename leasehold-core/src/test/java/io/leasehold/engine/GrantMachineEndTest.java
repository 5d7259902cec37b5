package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.ReleaseReply;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The end of a grant at its store, and the outcome for its holder. */
@Tag("quick")
class GrantMachineEndTest {

    private static final long MS = 1_000_000;
    private static final long KEPT = 500 * MS;
    private static final Timings TIMINGS = Timings.of(LockOptions.defaults(), false);

    private static final GrantMachine.Keeping NOT_KEPT = new GrantMachine.Keeping(0, 0);
    private static final GrantMachine.Keeping KEPT_FOR_HALF_A_SECOND = new GrantMachine.Keeping(0, KEPT);

    private final GrantMachine machine = new GrantMachine(TIMINGS, 0, 0);

    private List<GrantMachine.Action> givenBack(GrantMachine.Keeping keeping, long atNanos) {
        return machine.on(new GrantMachine.ReleaseCalled(keeping), atNanos);
    }

    private void lost(LossCause cause) {
        machine.on(new GrantMachine.TakenAway(cause), 1);
    }

    @Test
    void whatIsHeldIsReleasedAlsoWhileItsLockIsKept() {
        // The shell keeps the lock first; at this point, the keeping is over.
        assertThat(givenBack(KEPT_FOR_HALF_A_SECOND, KEPT)).containsExactly(new GrantMachine.SendRelease());
    }

    @Test
    void whatWasLostIsFreed() {
        lost(LossCause.EXPIRED);
        assertThat(givenBack(NOT_KEPT, 2)).containsExactly(new GrantMachine.SendUndo());
    }

    @Test
    void whatTheStoreHasDeniedIsNotAskedForAgain() {
        machine.on(new GrantMachine.Denied(), 1);
        assertThat(givenBack(NOT_KEPT, 2)).containsExactly(new GrantMachine.LeaveToEnd());
    }

    @Test
    void whatWasLostStaysTakenWhileItsLockIsKept() {
        lost(LossCause.EXPIRED);
        assertThat(givenBack(KEPT_FOR_HALF_A_SECOND, KEPT - 1)).containsExactly(new GrantMachine.LeaveToEnd());
    }

    @Test
    void itIsFreedOnceThatIsOver() {
        lost(LossCause.EXPIRED);
        assertThat(givenBack(KEPT_FOR_HALF_A_SECOND, KEPT)).containsExactly(new GrantMachine.SendUndo());
    }

    @Test
    void whatAnOperatorHasEndedIsFree() {
        lost(LossCause.FORCE_RELEASED);
        assertThat(givenBack(KEPT_FOR_HALF_A_SECOND, 2)).containsExactly(new GrantMachine.SendUndo());
    }

    /** If the monotonic clock goes back, a lock with a keeping of zero must not seem to be kept. */
    @Test
    void withoutAKeepingItIsFreedAlsoWhereTheClockHasGoneBack() {
        lost(LossCause.EXPIRED);
        assertThat(givenBack(new GrantMachine.Keeping(5_000 * MS, 0), 2)).containsExactly(new GrantMachine.SendUndo());
    }

    @Test
    void aDesertedGrantEndsByTheSameRules() {
        lost(LossCause.EXPIRED);
        assertThat(machine.on(new GrantMachine.Deserted(KEPT_FOR_HALF_A_SECOND), KEPT - 1))
                .containsExactly(new GrantMachine.LeaveToEnd());
    }

    @Test
    void aStoreThatDoesNotKnowTheHoldIsBelievedWithinItsValidityAlone() {
        long endsAtNanos = TIMINGS.validityNanos();
        givenBack(NOT_KEPT, 2);
        assertThat(machine.outcome(new ReleaseReply.NotOurs(), endsAtNanos - 1)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        assertThat(machine.outcome(new ReleaseReply.NotOurs(), endsAtNanos)).isEqualTo(ReleaseOutcome.UNCONFIRMED);
    }

    @Test
    void aReleaseCountsHoweverLateItIsAnswered() {
        givenBack(NOT_KEPT, 2);
        assertThat(machine.outcome(new ReleaseReply.Released(), 2 * TIMINGS.validityNanos()))
                .isEqualTo(ReleaseOutcome.RELEASED);
        ReleaseReply failed =
                new ReleaseReply.Failed(FailureKind.UNKNOWN, new StoreUnavailableException("silent", null));
        assertThat(machine.outcome(failed, 3)).isEqualTo(ReleaseOutcome.UNCONFIRMED);
    }
}
