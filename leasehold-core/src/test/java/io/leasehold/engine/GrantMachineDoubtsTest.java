package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LossCause;
import io.leasehold.engine.GrantMachine.ArmRenew;
import io.leasehold.engine.GrantMachine.LeaveToEnd;
import io.leasehold.engine.GrantMachine.RefuseRenewal;
import io.leasehold.engine.GrantMachine.Renew;
import io.leasehold.engine.GrantMachine.SendRelease;
import io.leasehold.engine.GrantMachine.SendUndo;
import io.leasehold.engine.GrantMachine.TellLost;
import io.leasehold.engine.GrantMachine.Verify;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The requests of a lease in doubt, after a suspension or a signal of an operator, and the end of a lost lease. */
@Tag("quick")
final class GrantMachineDoubtsTest {

    private static final GrantMachine.Keeping NOT_KEPT = new GrantMachine.Keeping(0, 0);

    private static final long MS = 1_000_000;
    private static final long ACQUIRED = 5_000 * MS;
    private static final long VALIDITY = 1_000 * MS;
    private static final long INTERVAL = 200 * MS;
    private static final long MAX_HOLD = 3_000 * MS;
    private static final long TTL = 1_010 * MS;
    /** The rest of the validity after an interval, divided by two tries. */
    private static final long RETRY = 400 * MS;

    private static final GrantMachine.Event SUSPENDED = new GrantMachine.Suspended();
    private static final GrantMachine.Event SUSPECTED = new GrantMachine.SuspectedForce();
    private static final GrantMachine.Event DOUBTED = new GrantMachine.Doubted();
    private static final GrantMachine.Event DENIED = new GrantMachine.Denied();

    private GrantMachine machine = machine(INTERVAL, 0);

    private static GrantMachine machine(long intervalNanos, long delayNanos) {
        Timings timings = new Timings(
                TTL, TTL + delayNanos, VALIDITY, 100 * MS, intervalNanos, 2, MAX_HOLD, 700 * MS, 100 * MS, false);
        return new GrantMachine(timings, ACQUIRED, ACQUIRED);
    }

    /** Processes an event at this number of nanoseconds after the acquisition. */
    private List<GrantMachine.Action> on(long afterNanos, GrantMachine.Event event) {
        return machine.on(event, ACQUIRED + afterNanos);
    }

    private List<GrantMachine.Action> due(long afterNanos, boolean byHand) {
        return on(afterNanos, new GrantMachine.RenewDue(byHand));
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

    private void atItsCap() {
        for (long after = INTERVAL; after <= MAX_HOLD - VALIDITY; after += INTERVAL) {
            due(after, false);
            renewed(after, after);
        }
        assertThat(due(MAX_HOLD - VALIDITY + 1, true)).containsExactly(new RefuseRenewal(LossCause.MAX_HOLD));
    }

    /** A check that waits counts renewals: one that follows a doubt is one of them, and leaves after the question. */
    @Test
    void whatADoubtAsksForIsARenewalLikeOthers() {
        for (GrantMachine.Event doubt : List.of(SUSPECTED, DOUBTED)) {
            machine = machine(INTERVAL, 0);
            long before = machine.renewals();
            assertThat(on(1, doubt)).hasSize(1);
            assertThat(machine.renewals()).isEqualTo(before + 1);
            assertThat(machine.isToLeave()).isTrue();
            assertThat(machine.beginSending()).isTrue();
            assertThat(machine.isToLeave()).isFalse();
        }
    }

    // ---- suspensions

    /** However many confirmations fail, no caller may rely on the lease until one is answered. */
    @Test
    void aLeaseThatNothingElseRenewsIsAskedAfterUntilItIsConfirmed() {
        machine = machine(0, 0);
        assertThat(on(0, SUSPENDED)).containsExactly(new Renew(false));
        assertThat(machine.isUnconfirmed()).isTrue();
        long at = 0;
        for (long pause : new long[] {100, 200, 400}) {
            assertThat(renewalFails(at)).contains(again(at + pause * MS));
            at += pause * MS;
            if (at < VALIDITY) {
                assertThat(due(at, false)).containsExactly(new Renew(false));
            }
        }
        assertThat(renewed(at, at)).isEmpty();
        assertThat(machine.isUnconfirmed()).isFalse();
        assertThat(due(at + 1, false))
                .as("the timer of a confirmation that has come")
                .isEmpty();
    }

    @Test
    void aRenewedLeaseIsAskedAfterAtLeastAsOftenAsAFailedRenewalIsRepeated() {
        machine = machine(INTERVAL, 0);
        on(0, SUSPENDED);
        assertThat(renewalFails(1)).containsExactly(again(1 + 100 * MS));
        due(100 * MS, false);
        assertThat(renewalFails(101 * MS)).containsExactly(again(301 * MS));
        due(301 * MS, false);
        assertThat(renewalFails(302 * MS)).contains(again(302 * MS + RETRY));
        due(702 * MS, false);
        assertThat(renewalFails(703 * MS)).as("not 800 ms").containsExactly(again(703 * MS + RETRY));
    }

    @Test
    void aConfirmationOfWhatWasSentBeforeIsAskedAnewAtOnce() {
        due(INTERVAL, false);
        assertThat(on(INTERVAL + 1, SUSPENDED)).as("one at a time").isEmpty();
        assertThat(renewed(INTERVAL, INTERVAL + 2)).containsExactly(new Renew(false));
        assertThat(machine.isUnconfirmed()).isTrue();
        assertThat(renewed(INTERVAL + 3, INTERVAL + 4)).containsExactly(next(2 * INTERVAL + 3));
        assertThat(machine.isUnconfirmed()).isFalse();
    }

    /** An automatic renewal was due twice and failed twice; the lease must not stay in doubt for that reason. */
    @Test
    void neitherTheTriesNorTheCapEndTheDoubt() {
        due(1, false);
        renewalFails(2);
        due(3, false);
        renewalFails(4);
        assertThat(on(5, SUSPENDED)).containsExactly(new Renew(false));
        renewalFails(6);
        assertThat(due(7, false)).containsExactly(new Renew(false));
        machine = machine(INTERVAL, 0);
        atItsCap();
        assertThat(on(MAX_HOLD - VALIDITY + 2, SUSPENDED)).containsExactly(new Renew(false));
        renewalFails(MAX_HOLD - VALIDITY + 3);
        assertThat(due(MAX_HOLD - VALIDITY + 4, true)).containsExactly(new Renew(true));
        renewed(MAX_HOLD - VALIDITY + 4, MAX_HOLD - VALIDITY + 5);
        assertThat(machine.remainingNanos(ACQUIRED + MAX_HOLD - 1)).isEqualTo(1);
    }

    @Test
    void whatItsHolderHasLeftIsNotConfirmedAndWhoAsksIsRefused() {
        due(INTERVAL, true);
        on(INTERVAL, new GrantMachine.Abandoned(LossCause.LEAKED));
        on(INTERVAL + 1, SUSPENDED);
        assertThat(renewed(INTERVAL, INTERVAL + 2)).containsExactly(new RefuseRenewal(LossCause.LEAKED));
        assertThat(due(INTERVAL + 3, true)).containsExactly(new RefuseRenewal(LossCause.LEAKED));
        assertThat(renewed(INTERVAL, INTERVAL + 4))
                .as("a heartbeat from before")
                .containsExactly(again(INTERVAL + 4 + 100 * MS), new RefuseRenewal(LossCause.LEAKED));
    }

    @Test
    void whatIsAnsweredAfterTheEndIsNothing() {
        due(INTERVAL, false);
        on(INTERVAL, SUSPENDED);
        on(INTERVAL, new GrantMachine.ReleaseCalled(NOT_KEPT));
        assertThat(machine.isUnconfirmed()).isFalse();
        assertThat(renewed(INTERVAL + 1, INTERVAL + 2)).isEmpty();
        assertThat(on(INTERVAL + 3, SUSPENDED)).isEmpty();
        assertThat(on(INTERVAL + 4, SUSPECTED)).isEmpty();
        assertThat(on(INTERVAL + 5, new GrantMachine.EndDue())).isEmpty();
        assertThat(machine.remainingNanos(ACQUIRED + INTERVAL + 6)).isZero();
    }

    // ---- a doubt

    /** The doubt alone neither ends the lease nor extends it. */
    @Test
    void aDoubtIsAskedAboutAndTheAnswerDecides() {
        assertThat(on(1, DOUBTED)).containsExactly(new Verify());
        assertThat(machine.remainingNanos(ACQUIRED + 1)).isEqualTo(VALIDITY - 1);
        assertThat(renewed(2, 3)).containsExactly(next(2 + INTERVAL));
        assertThat(on(4, DOUBTED)).containsExactly(new Verify());
        assertThat(on(5, DENIED)).containsExactly(new TellLost(LossCause.NOT_OURS));
        assertThat(on(6, DOUBTED)).isEmpty();
    }

    @Test
    void howeverManyDoubtsComeOneQuestionIsUnderWay() {
        assertThat(on(1, DOUBTED)).containsExactly(new Verify());
        for (int i = 2; i < 100; i++) {
            assertThat(on(i, DOUBTED)).isEmpty();
        }
        assertThat(renewed(1, 100)).as("sent before the last").containsExactly(next(1 + INTERVAL), new Renew(true));
        assertThat(renewed(100, 101)).containsExactly(next(100 + INTERVAL));
    }

    @Test
    void aDoubtThatIsNotAnsweredStays() {
        machine = machine(0, 0);
        assertThat(on(1, DOUBTED)).containsExactly(new Verify());
        assertThat(renewalFails(2)).contains(again(2 + 100 * MS));
        assertThat(due(2 + 100 * MS, false)).containsExactly(new Renew(false));
        assertThat(on(3 + 100 * MS, DENIED)).containsExactly(new TellLost(LossCause.NOT_OURS));
    }

    /** The signal that a key is gone may arrive before the signal of the operator that took it. */
    @Test
    void newsOfAnOperatorTellWhyADoubtedLeaseIsGone() {
        on(1, DOUBTED);
        assertThat(on(2, SUSPECTED)).isEmpty();
        assertThat(on(3, DENIED)).containsExactly(new TellLost(LossCause.FORCE_RELEASED));
    }

    @Test
    void aDoubtAfterTheReleaseAsksNothing() {
        on(1, new GrantMachine.ReleaseCalled(NOT_KEPT));
        assertThat(on(2, DOUBTED)).isEmpty();
    }

    // ---- signals of an operator

    @Test
    void newsOfAnOperatorAreAskedAboutAtOnceAndANoIsOneByForce() {
        assertThat(on(1, SUSPECTED)).containsExactly(new Renew(true));
        assertThat(on(2, DENIED)).containsExactly(new TellLost(LossCause.FORCE_RELEASED));
        machine = machine(INTERVAL, 0);
        assertThat(on(1, DENIED)).containsExactly(new TellLost(LossCause.NOT_OURS));
    }

    @Test
    void anAnswerThatWasUnderWayIsFollowedByAQuestionAndRefutesNothing() {
        due(INTERVAL, false);
        assertThat(on(INTERVAL, SUSPECTED)).isEmpty();
        assertThat(renewed(INTERVAL, INTERVAL + 1)).containsExactly(next(2 * INTERVAL), new Renew(true));
        renewed(INTERVAL + 1, INTERVAL + 2);
        assertThat(on(INTERVAL + 3, DENIED)).as("that one did").containsExactly(new TellLost(LossCause.NOT_OURS));
    }

    @Test
    void aFailureRefutesNothingAndIsRepeatedSoon() {
        due(INTERVAL, false);
        on(INTERVAL, SUSPECTED);
        assertThat(renewalFails(INTERVAL + 1)).containsExactly(again(INTERVAL + 1 + 100 * MS));
        assertThat(due(INTERVAL + 1 + 100 * MS, false)).containsExactly(new Renew(false));
        assertThat(on(INTERVAL + 2 + 100 * MS, DENIED)).containsExactly(new TellLost(LossCause.FORCE_RELEASED));
    }

    /** Otherwise, the holder would believe that it holds the lock for the rest of the ttl. */
    @Test
    void aLeaseThatNothingElseRenewsIsAskedAboutUntilItIsAnswered() {
        machine = machine(0, 0);
        assertThat(on(1, SUSPECTED)).containsExactly(new Renew(true));
        long at = 1;
        for (long pause : new long[] {100, 200, 400}) {
            assertThat(renewalFails(at)).contains(again(at + pause * MS));
            at += pause * MS;
            assertThat(due(at, false)).containsExactly(new Renew(false));
        }
        assertThat(on(at, DENIED)).containsExactly(new TellLost(LossCause.FORCE_RELEASED));
    }

    @Test
    void onceItIsAnsweredNothingElseAsksAboutIt() {
        machine = machine(0, 0);
        on(1, SUSPECTED);
        renewalFails(2);
        assertThat(due(3, true)).as("its holder").containsExactly(new Renew(true));
        assertThat(renewed(3, 4)).isEmpty();
        assertThat(due(2 + 100 * MS, false))
                .as("the timer of a question that was answered")
                .isEmpty();
    }

    /** Two renewals were due, and failed; the pauses start again with each signal. */
    @Test
    void theTriesDoNotEndTheSuspicion() {
        due(1, false);
        renewalFails(2);
        due(3, false);
        renewalFails(4);
        assertThat(on(5, SUSPECTED)).containsExactly(new Renew(true));
        assertThat(renewalFails(6)).containsExactly(again(6 + 100 * MS));
        assertThat(due(7, false)).containsExactly(new Renew(false));
        assertThat(renewalFails(8)).containsExactly(again(8 + 200 * MS));
        assertThat(on(9, SUSPECTED)).containsExactly(new Renew(true));
        assertThat(renewalFails(10)).containsExactly(again(10 + 100 * MS));
    }

    @Test
    void aLeaseAtItsCapIsAskedAboutUntilItIsAnswered() {
        atItsCap();
        long at = MAX_HOLD - VALIDITY + 2;
        assertThat(on(at, SUSPECTED)).containsExactly(new Renew(true));
        assertThat(renewalFails(at + 1)).contains(again(at + 1 + 100 * MS));
        assertThat(due(at + 1 + 100 * MS, false)).containsExactly(new Renew(false));
        assertThat(on(at + 2 + 100 * MS, DENIED)).containsExactly(new TellLost(LossCause.FORCE_RELEASED));
    }

    @Test
    void whatItsHolderHasLeftIsNotAskedAbout() {
        on(1, new GrantMachine.Abandoned(LossCause.LEAKED));
        assertThat(on(2, SUSPECTED)).isEmpty();
        assertThat(due(3, false)).doesNotContain(new Renew(false));
    }

    /** The lease is no longer renewed, and the holder would rely on it for a whole validity. */
    @Test
    void aLeaseAtItsCapIsAskedAboutToo() {
        atItsCap();
        assertThat(on(MAX_HOLD - VALIDITY + 2, SUSPECTED)).containsExactly(new Renew(true));
        assertThat(on(MAX_HOLD - VALIDITY + 3, DENIED)).containsExactly(new TellLost(LossCause.FORCE_RELEASED));
        machine = machine(INTERVAL, 0);
        atItsCap();
        on(MAX_HOLD - VALIDITY + 2, SUSPECTED);
        renewed(MAX_HOLD - VALIDITY + 2, MAX_HOLD - VALIDITY + 3);
        assertThat(machine.validUntilAtNanos())
                .as("it was there, and its cap stands")
                .isEqualTo(ACQUIRED + MAX_HOLD);
        assertThat(due(MAX_HOLD - VALIDITY + 4, true)).containsExactly(new RefuseRenewal(LossCause.MAX_HOLD));
    }

    @Test
    void newsThatComeWhileTheCapIsReachedAreAskedAboutToo() {
        atItsCap();
        on(MAX_HOLD - VALIDITY + 2, SUSPENDED);
        on(MAX_HOLD - VALIDITY + 3, SUSPECTED);
        assertThat(renewed(MAX_HOLD - VALIDITY + 2, MAX_HOLD - VALIDITY + 4)).contains(new Renew(true));
        assertThat(on(MAX_HOLD - VALIDITY + 5, DENIED)).containsExactly(new TellLost(LossCause.FORCE_RELEASED));
    }

    // ---- the end

    @Test
    void theLockDelayRunsUnlessTheEndWasInOrder() {
        assertThat(ended(LossCause.EXPIRED, true)).isEqualTo(new LeaveToEnd());
        assertThat(ended(LossCause.FORCE_RELEASED, true)).isEqualTo(new SendUndo());
        assertThat(ended(LossCause.FORCE_RELEASED, false)).isEqualTo(new SendUndo());
        assertThat(ended(LossCause.CLIENT_CLOSED, true)).isEqualTo(new SendUndo());
        assertThat(ended(LossCause.CLIENT_CLOSED, false)).isEqualTo(new LeaveToEnd());
    }

    private GrantMachine.Action ended(LossCause cause, boolean byHolder) {
        machine = machine(INTERVAL, 60_000 * MS);
        on(1, new GrantMachine.TakenAway(cause));
        assertThat(machine.isReleased()).isFalse();
        List<GrantMachine.Action> end =
                on(2, byHolder ? new GrantMachine.ReleaseCalled(NOT_KEPT) : new GrantMachine.Deserted(NOT_KEPT));
        assertThat(end).hasSize(1);
        assertThat(machine.isReleased()).isTrue();
        assertThat(on(3, new GrantMachine.Deserted(NOT_KEPT))).as("once").isEmpty();
        return end.get(0);
    }

    @Test
    void withoutALockDelayWhatIsLeftIsEnded() {
        on(1, new GrantMachine.TakenAway(LossCause.CLIENT_CLOSED));
        assertThat(on(2, new GrantMachine.Deserted(NOT_KEPT))).containsExactly(new SendUndo());
        machine = machine(INTERVAL, 60_000 * MS);
        assertThat(on(1, new GrantMachine.Deserted(NOT_KEPT)))
                .as("held until now")
                .containsExactly(new SendRelease());
    }
}
