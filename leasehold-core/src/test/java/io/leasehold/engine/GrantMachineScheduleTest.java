package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LossCause;
import io.leasehold.engine.GrantMachine.ArmEnd;
import io.leasehold.engine.GrantMachine.ArmRenew;
import io.leasehold.engine.GrantMachine.LeaveToEnd;
import io.leasehold.engine.GrantMachine.RefuseRenewal;
import io.leasehold.engine.GrantMachine.Renew;
import io.leasehold.engine.GrantMachine.SendRelease;
import io.leasehold.engine.GrantMachine.TellAtRisk;
import io.leasehold.engine.GrantMachine.TellLost;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The times, to the nanosecond, at which a lease is renewed, at risk, at its cap, lost and released. */
@Tag("quick")
final class GrantMachineScheduleTest {

    private static final GrantMachine.Keeping NOT_KEPT = new GrantMachine.Keeping(0, 0);

    private static final long MS = 1_000_000;
    private static final long ACQUIRED = 5_000 * MS;
    private static final long VALIDITY = 1_000 * MS;
    private static final long INTERVAL = 200 * MS;
    private static final long MAX_HOLD = 3_000 * MS;
    /** VALIDITY minus one and a half intervals. */
    private static final long RISK = 700 * MS;
    /** The rest of the validity after an interval, divided by two tries. */
    private static final long RETRY = 400 * MS;

    private static final int TRIES = 2;

    private GrantMachine machine = renewedEvery(INTERVAL);

    private static GrantMachine renewedEvery(long intervalNanos) {
        Timings timings = new Timings(
                1_010 * MS, 1_010 * MS, VALIDITY, 100 * MS, intervalNanos, TRIES, MAX_HOLD, 700 * MS, 100 * MS, false);
        return new GrantMachine(timings, ACQUIRED, ACQUIRED);
    }

    /** Processes an event at this number of nanoseconds after the acquisition. */
    private List<GrantMachine.Action> on(long afterNanos, GrantMachine.Event event) {
        return machine.on(event, ACQUIRED + afterNanos);
    }

    private List<GrantMachine.Action> due(long afterNanos) {
        return on(afterNanos, new GrantMachine.RenewDue(false));
    }

    private List<GrantMachine.Action> dueByHand(long afterNanos) {
        return on(afterNanos, new GrantMachine.RenewDue(true));
    }

    private List<GrantMachine.Action> renewed(long sentAfterNanos, long afterNanos) {
        return on(afterNanos, new GrantMachine.Renewed(ACQUIRED + sentAfterNanos));
    }

    private List<GrantMachine.Action> renewalFails(long afterNanos) {
        return on(afterNanos, new GrantMachine.RenewFailed());
    }

    /** The pause of a renewal that follows a failure is not shortened. */
    private static ArmRenew again(long afterNanos) {
        return new ArmRenew(ACQUIRED + afterNanos, ACQUIRED + afterNanos);
    }

    /** The next one after a success may be earlier by half an interval, with others. */
    private static ArmRenew next(long afterNanos) {
        return new ArmRenew(ACQUIRED + afterNanos, ACQUIRED + afterNanos - INTERVAL / 2 - INTERVAL / 16);
    }

    @Test
    void theFirstRenewalComesUpToATenthOfTheIntervalEarly() {
        ArmEnd end = new ArmEnd(ACQUIRED + VALIDITY);
        assertThat(machine.begin(0)).containsExactly(end, next(INTERVAL));
        assertThat(machine.begin(WaitPolicy.ONE / 2)).containsExactly(end, next(INTERVAL - 10 * MS));
        assertThat(renewedEvery(0).begin(0)).containsExactly(end);
    }

    @Test
    void theNextRenewalIsAnIntervalAfterTheSendingOfTheLast() {
        assertThat(due(INTERVAL)).containsExactly(new Renew(false));
        assertThat(renewed(INTERVAL, INTERVAL + 50 * MS)).containsExactly(next(2 * INTERVAL));
        due(2 * INTERVAL);
        assertThat(renewed(2 * INTERVAL, 3 * INTERVAL + 1))
                .as("an answer that took longer than that")
                .containsExactly(next(3 * INTERVAL + 1));
    }

    @Test
    void aLeaseThatIsNotRenewedArmsNoRenewal() {
        machine = renewedEvery(0);
        assertThat(dueByHand(10 * MS)).containsExactly(new Renew(true));
        assertThat(renewed(10 * MS, 20 * MS)).isEmpty();
        assertThat(machine.validUntilAtNanos()).isEqualTo(ACQUIRED + 10 * MS + VALIDITY);
        dueByHand(30 * MS);
        assertThat(renewalFails(40 * MS))
                .as("without an interval every failed renewal is reported")
                .containsExactly(new TellAtRisk(970 * MS));
    }

    @Test
    void theEndOnlyEverMovesForward() {
        renewed(100 * MS, 110 * MS);
        renewed(50 * MS, 120 * MS);
        assertThat(machine.validUntilAtNanos()).isEqualTo(ACQUIRED + 100 * MS + VALIDITY);
    }

    @Test
    void itIsAtRiskOnceLessIsLeftThanRenewalsInTimeWouldLeave() {
        due(INTERVAL);
        assertThat(renewalFails(VALIDITY - RISK)).containsExactly(again(VALIDITY - RISK + RETRY));
        due(VALIDITY - RISK);
        assertThat(renewalFails(VALIDITY - RISK + 1))
                .as("armed before user code is notified")
                .containsExactly(again(VALIDITY - RISK + 1 + RETRY), new TellAtRisk(RISK - 1));
        dueByHand(500 * MS);
        assertThat(renewalFails(600 * MS)).as("told once, and armed").isEmpty();
    }

    @Test
    void afterTheLastTryItIsAtRiskHoweverMuchIsLeft() {
        due(1);
        renewalFails(2);
        due(3);
        renewalFails(4);
        assertThat(due(5)).containsExactly(new TellAtRisk(VALIDITY - 5));
        assertThat(due(6)).as("told once, and not tried again").isEmpty();
        assertThat(dueByHand(7)).as("every requester may").containsExactly(new Renew(true));
        renewed(7, 8);
        assertThat(due(9)).as("a success starts the count anew").containsExactly(new Renew(false));
    }

    @Test
    void whatTheHolderAsksForUsesUpNoTry() {
        for (int i = 0; i < 20; i++) {
            dueByHand(2 * i + 1);
            renewalFails(2 * i + 2);
        }
        assertThat(due(INTERVAL)).as("the store is back").containsExactly(new Renew(false));
    }

    /** Else, they would be used up long before the validity ends, and a store that comes back would not be asked. */
    @Test
    void theTriesAreSpreadOverTheRestOfTheValidityIfTheFirstWasEarly() {
        machine.begin(0);
        assertThat(due(INTERVAL / 2)).containsExactly(new Renew(false));
        long pause = (VALIDITY - INTERVAL / 2) / 2;
        assertThat(renewalFails(INTERVAL / 2)).containsExactly(again(INTERVAL / 2 + pause));
        assertThat(due(INTERVAL / 2 + pause)).containsExactly(new Renew(false));
        assertThat(renewalFails(INTERVAL / 2 + pause))
                .as("that was the last")
                .contains(again(INTERVAL / 2 + pause + RETRY));
    }

    @Test
    void aFailureOfWhatTheHolderAsksForPutsOffNoRenewal() {
        machine.begin(0);
        dueByHand(1);
        assertThat(renewalFails(2)).as("the first one is armed").isEmpty();
        due(INTERVAL);
        assertThat(renewalFails(INTERVAL + 1)).containsExactly(again(INTERVAL + 1 + RETRY));
        dueByHand(INTERVAL + 2);
        assertThat(renewalFails(INTERVAL + 3)).as("so is the repetition").isEmpty();
        dueByHand(INTERVAL + 4);
        assertThat(due(INTERVAL + 5)).as("one at a time").isEmpty();
        assertThat(renewalFails(INTERVAL + 6)).containsExactly(again(INTERVAL + 6 + RETRY));
    }

    @Test
    void theFailureOfARenewalOfALostLeaseIsNothing() {
        due(INTERVAL);
        assertThat(on(INTERVAL, new GrantMachine.TakenAway(LossCause.NOT_OURS)))
                .containsExactly(new TellLost(LossCause.NOT_OURS));
        assertThat(renewalFails(INTERVAL + 1)).isEmpty();
        assertThat(due(INTERVAL + 2)).isEmpty();
    }

    @Test
    void itIsRenewedAsLongAsAWholeValidityFitsUnderTheCap() {
        keepUntil(MAX_HOLD - VALIDITY);
        assertThat(dueByHand(MAX_HOLD - VALIDITY))
                .as("the renewal that reaches the cap, and does not pass it, stops nothing yet")
                .containsExactly(new Renew(true));
        renewed(MAX_HOLD - VALIDITY, MAX_HOLD - VALIDITY);
        assertThat(dueByHand(MAX_HOLD - VALIDITY + 1)).containsExactly(new RefuseRenewal(LossCause.MAX_HOLD));
        assertThat(machine.validUntilAtNanos()).isEqualTo(ACQUIRED + MAX_HOLD);
    }

    @Test
    void theCapIsToldAsARiskBeforeItEndsTheLease() {
        keepUntil(MAX_HOLD - VALIDITY);
        long stop = MAX_HOLD - VALIDITY + 1;
        assertThat(due(stop)).containsExactly(again(stop + RETRY));
        assertThat(due(stop + RETRY)).containsExactly(new TellAtRisk(VALIDITY - 1 - RETRY));
        assertThat(due(stop + RETRY + 1)).isEmpty();
        assertThat(on(MAX_HOLD, new GrantMachine.EndDue())).containsExactly(new TellLost(LossCause.MAX_HOLD));
    }

    private void keepUntil(long lastAfterNanos) {
        for (long after = INTERVAL; after <= lastAfterNanos; after += INTERVAL) {
            assertThat(due(after)).containsExactly(new Renew(false));
            renewed(after, after);
        }
    }

    @Test
    void whyRenewalsStoppedFirstIsWhyItEnds() {
        keepUntil(MAX_HOLD - VALIDITY);
        due(MAX_HOLD - VALIDITY);
        on(MAX_HOLD - VALIDITY, new GrantMachine.Abandoned(LossCause.LEAKED));
        renewed(MAX_HOLD - VALIDITY + 1, MAX_HOLD - VALIDITY + 2);
        assertThat(machine.validUntilAtNanos()).as("the cap holds all the same").isEqualTo(ACQUIRED + MAX_HOLD);
        assertThat(dueByHand(MAX_HOLD - VALIDITY + 3)).containsExactly(new RefuseRenewal(LossCause.LEAKED));
        assertThat(on(MAX_HOLD, new GrantMachine.EndDue())).containsExactly(new TellLost(LossCause.LEAKED));
    }

    @Test
    void anEndThatIsNotYetDueIsArmedAgain() {
        assertThat(on(VALIDITY - 1, new GrantMachine.EndDue())).containsExactly(new ArmEnd(ACQUIRED + VALIDITY));
        assertThat(machine.isHeld()).isTrue();
        assertThat(machine.remainingNanos(ACQUIRED + VALIDITY - 1)).isEqualTo(1);
        assertThat(on(VALIDITY, new GrantMachine.EndDue())).containsExactly(new TellLost(LossCause.EXPIRED));
        assertThat(machine.isHeld()).isFalse();
        assertThat(on(VALIDITY + 1, new GrantMachine.EndDue())).isEmpty();
    }

    @Test
    void aRenewalFromBeforeASuspensionIsFollowedByAnotherAfterAPause() {
        on(100 * MS, new GrantMachine.Suspended());
        assertThat(renewed(99 * MS, 150 * MS)).containsExactly(again(250 * MS));
        assertThat(renewed(99 * MS, 250 * MS)).as("twice as long").containsExactly(again(450 * MS));
        assertThat(machine.remainingNanos(ACQUIRED + 150 * MS)).isZero();
        renewed(100 * MS, 460 * MS);
        assertThat(machine.remainingNanos(ACQUIRED + 460 * MS)).isEqualTo(VALIDITY - 360 * MS);
    }

    @Test
    void nothingIsConfirmedForAHolderThatIsGone() {
        on(1, new GrantMachine.Abandoned(LossCause.LEAKED));
        assertThat(on(2, new GrantMachine.Suspended())).isEmpty();
        assertThat(machine.remainingNanos(ACQUIRED + 2)).isZero();
    }

    @Test
    void thatItsHolderIsGoneIsToldOnceAndOfWhatIsHeld() {
        GrantMachine.Event leaked = new GrantMachine.Abandoned(LossCause.LEAKED);
        GrantMachine.Event died = new GrantMachine.Abandoned(LossCause.THREAD_DIED);
        assertThat(on(1, died)).containsExactly(new GrantMachine.TellAbandoned(LossCause.THREAD_DIED));
        assertThat(on(2, leaked)).isEmpty();
        assertThat(on(VALIDITY, new GrantMachine.EndDue())).containsExactly(new TellLost(LossCause.THREAD_DIED));
        assertThat(on(VALIDITY, leaked)).isEmpty();
    }

    @Test
    void aReleaseWaitsForARenewalThatIsLeaving() {
        due(INTERVAL);
        assertThat(machine.beginSending()).isTrue();
        assertThat(on(INTERVAL, new GrantMachine.ReleaseCalled(NOT_KEPT))).isEmpty();
        assertThat(machine.isHeld()).isFalse();
        assertThat(on(INTERVAL, new GrantMachine.RenewalSent())).containsExactly(new SendRelease());
        assertThat(on(INTERVAL, new GrantMachine.RenewalSent())).isEmpty();
        assertThat(machine.beginSending()).isFalse();
    }

    @Test
    void aReleaseAfterARenewalHasLeftWaitsForNothing() {
        due(INTERVAL);
        machine.beginSending();
        assertThat(on(INTERVAL, new GrantMachine.RenewalSent())).isEmpty();
        assertThat(on(INTERVAL, new GrantMachine.ReleaseCalled(NOT_KEPT))).containsExactly(new SendRelease());
        assertThat(on(INTERVAL, new GrantMachine.ReleaseCalled(NOT_KEPT)))
                .as("once")
                .isEmpty();
    }

    /** An Error has kept the shell from its report that the renewal was sent. */
    @Test
    void anAnswerProvesThatItsRenewalWasSent() {
        List<GrantMachine.Event> answers = List.of(
                new GrantMachine.Renewed(ACQUIRED + INTERVAL),
                new GrantMachine.RenewFailed(),
                new GrantMachine.Denied());
        for (GrantMachine.Event answer : answers) {
            machine = renewedEvery(INTERVAL);
            due(INTERVAL);
            machine.beginSending();
            assertThat(on(INTERVAL, new GrantMachine.ReleaseCalled(NOT_KEPT))).isEmpty();
            assertThat(on(INTERVAL + 1, answer)).as("%s", answer).containsExactly(new SendRelease());
            assertThat(on(INTERVAL + 2, new GrantMachine.RenewalSent())).isEmpty();
            machine = renewedEvery(INTERVAL);
            due(INTERVAL);
            machine.beginSending();
            on(INTERVAL + 1, answer);
            assertThat(on(INTERVAL + 2, new GrantMachine.ReleaseCalled(NOT_KEPT)))
                    .as("%s", answer)
                    .hasSize(1);
        }
    }

    @Test
    void whyItWasLostIsKnownAlsoAfterItsRelease() {
        assertThat(machine.cause()).isNull();
        on(1, new GrantMachine.TakenAway(LossCause.NOT_OURS));
        assertThat(on(2, new GrantMachine.TakenAway(LossCause.EXPIRED)))
                .as("lost once")
                .isEmpty();
        assertThat(on(3, new GrantMachine.ReleaseCalled(NOT_KEPT))).containsExactly(new LeaveToEnd());
        assertThat(machine.cause()).isEqualTo(LossCause.NOT_OURS);
    }

    @Test
    void itsValidityCountsFromTheSending() {
        GrantMachine late = new GrantMachine(
                new Timings(1_010 * MS, 0, VALIDITY, 0, INTERVAL, TRIES, MAX_HOLD, 0, 0, false),
                ACQUIRED,
                ACQUIRED + 7);
        assertThat(late.validUntilAtNanos()).isEqualTo(ACQUIRED + VALIDITY);
    }
}
