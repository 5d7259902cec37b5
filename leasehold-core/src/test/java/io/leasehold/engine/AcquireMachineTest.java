package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Backoff;
import io.leasehold.Holder;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import io.leasehold.NodeVote;
import io.leasehold.StoreUnavailableException;
import io.leasehold.engine.AcquireMachine.Action;
import io.leasehold.engine.AcquireMachine.Arm;
import io.leasehold.engine.AcquireMachine.Busy;
import io.leasehold.engine.AcquireMachine.Event;
import io.leasehold.engine.AcquireMachine.Finish;
import io.leasehold.engine.AcquireMachine.Offer;
import io.leasehold.engine.AcquireMachine.Send;
import io.leasehold.engine.AcquireMachine.Undo;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The times, to the nanosecond, at which an attempt sends requests, pauses and gives up, and its outcomes. */
@Tag("quick")
final class AcquireMachineTest {

    private static final long MS = 1_000_000;
    private static final long NOW = 5_000 * MS;
    private static final long WAIT = 100 * MS;
    private static final long DEADLINE = NOW + WAIT;
    private static final long NO_LIMIT = Long.MAX_VALUE;
    private static final Timings TIMINGS = Timings.of(LockOptions.defaults().ttl(Duration.ofSeconds(1)), false);
    /** Pauses of 5, 10, 20, … ms if the random number is zero. */
    private static final WaitPolicy POLICY =
            new WaitPolicy(3_000 * MS, Backoff.exponential(Duration.ofMillis(10), Duration.ofSeconds(1)));

    private static final Holder HOLDER = new Holder("other", Duration.ofMillis(400), OptionalLong.empty());
    private static final List<NodeVote> VOTES = List.of(new NodeVote("a", NodeVote.Answer.BUSY, "held by other"));

    private final StoreUnavailableException down = new StoreUnavailableException("the store is down", null);
    private AcquireMachine machine = patient(WAIT);

    private static AcquireMachine patient(long maxWaitNanos) {
        return new AcquireMachine("lock \"x\" at the store", TIMINGS, POLICY, maxWaitNanos, false, NOW);
    }

    private List<Action> on(Event event, long nowNanos) {
        return machine.on(event, nowNanos);
    }

    private List<Action> replied(AcquireReply reply, long nowNanos) {
        return on(new AcquireMachine.Replied(reply, 0), nowNanos);
    }

    private static AcquireReply busy() {
        return new AcquireReply.Busy(HOLDER, 7, VOTES);
    }

    private static AcquireReply queued() {
        return new AcquireReply.Queued(HOLDER, 7, VOTES);
    }

    private AcquireReply failed(FailureKind kind) {
        return new AcquireReply.Failed(kind, down, 7);
    }

    private static AcquireReply spent(long ballot) {
        return new AcquireReply.Refused("too far ahead", 0, ballot, VOTES, true);
    }

    private static AcquireReply granted(long sentAtNanos) {
        OwnerToken owner = OwnerToken.fromHex("00".repeat(OwnerToken.BYTES));
        return new AcquireReply.Granted(
                new Grant(owner, new TokenRange(3, 9), sentAtNanos, Incarnation.DURABLE), List.of());
    }

    private void start() {
        assertThat(on(new AcquireMachine.Started(), NOW)).containsExactly(new Send(false, 0));
    }

    private static LockStoreException errorOf(List<Action> actions) {
        Finish finish = (Finish) actions.get(actions.size() - 1);
        return ((AcquireMachine.Failed) finish.outcome()).error();
    }

    private static AcquireMachine atNodes(long maxWaitNanos) {
        return new AcquireMachine("lock \"x\" at the set", TIMINGS, POLICY, maxWaitNanos, true, NOW);
    }

    /**
     * A minority of the nodes wakes the waiter, although the set has answered busy, refused or failed. The nodes must
     * be notified when the waiter leaves.
     */
    @Test
    void aWaiterThatLeavesASetIsUndoneWhateverTheSetHasAnswered() {
        AcquireReply refused = new AcquireReply.Refused("quarantine", 0, 7, VOTES);
        for (AcquireReply reply : List.of(busy(), refused, failed(FailureKind.NO_EFFECT))) {
            machine = atNodes(WAIT);
            start();
            replied(reply, NOW + MS);
            assertThat(on(new AcquireMachine.GaveUp(), NOW + 2 * MS))
                    .as("answered: %s", reply)
                    .containsExactly(new Undo(7), new Finish(new AcquireMachine.Abandoned()));
            machine = atNodes(WAIT);
            start();
            on(new AcquireMachine.GaveUp(), NOW + MS);
            assertThat(replied(reply, NOW + 2 * MS))
                    .as("not answered yet: %s", reply)
                    .containsExactly(new Undo(7));
        }
    }

    @Test
    void aSetKeepsNothingOfAnAttemptWithoutPatienceOrWithoutABallot() {
        machine = atNodes(0);
        start();
        assertThat(replied(busy(), NOW + MS)).containsExactly(new Finish(new Busy(HOLDER, VOTES)));
        machine = atNodes(WAIT);
        start();
        replied(new AcquireReply.Failed(FailureKind.NO_EFFECT, down, 0), NOW + MS);
        assertThat(on(new AcquireMachine.GaveUp(), NOW + 2 * MS))
                .containsExactly(new Finish(new AcquireMachine.Abandoned()));
    }

    @Test
    void whoStandsInTheLocalLineIsWokenAtItsDeadline() {
        assertThat(on(new AcquireMachine.Enqueued(), NOW)).containsExactly(new Arm(DEADLINE));
        assertThat(on(new AcquireMachine.TimerFired(), DEADLINE - 1)).containsExactly(new Arm(DEADLINE));
        assertThat(on(new AcquireMachine.TimerFired(), DEADLINE))
                .containsExactly(new Finish(new Busy(null, List.of())));
        assertThat(machine.isOver()).isTrue();
        assertThat(on(new AcquireMachine.TimerFired(), DEADLINE + 1)).isEmpty();
    }

    @Test
    void whoHasNoLimitIsNeverWokenByAClock() {
        machine = patient(NO_LIMIT);
        assertThat(on(new AcquireMachine.Enqueued(), NOW)).isEmpty();
        assertThat(on(new AcquireMachine.TimerFired(), Long.MAX_VALUE)).isEmpty();
        start();
        assertThat(on(new AcquireMachine.TimerFired(), Long.MAX_VALUE)).isEmpty();
    }

    /** The machine can still count with 146 years; a longer time means no limit. */
    @Test
    void halfOfWhatALongHoldsIsStillALimit() {
        long longest = Long.MAX_VALUE / 2;
        machine = patient(longest);
        assertThat(on(new AcquireMachine.Enqueued(), NOW)).containsExactly(new Arm(NOW + longest));
        machine = patient(longest + 1);
        assertThat(on(new AcquireMachine.Enqueued(), NOW)).isEmpty();
    }

    @Test
    void whoseTurnComesTooLateAsksNoMore() {
        on(new AcquireMachine.Enqueued(), NOW);
        assertThat(on(new AcquireMachine.Started(), DEADLINE)).containsExactly(new Finish(new Busy(null, List.of())));

        machine = patient(WAIT);
        on(new AcquireMachine.Enqueued(), NOW);
        assertThat(on(new AcquireMachine.Started(), DEADLINE - 1)).containsExactly(new Send(false, 0));
    }

    @Test
    void whoNeverHadToStandInLineAsksOnceHoweverImpatient() {
        machine = patient(0);
        start();
        assertThat(on(new AcquireMachine.Started(), NOW)).as("once").isEmpty();
        assertThat(on(new AcquireMachine.TimerFired(), NOW + MS))
                .as("one round trip is waited for")
                .isEmpty();
        assertThat(replied(busy(), NOW + MS)).containsExactly(new Finish(new Busy(HOLDER, VOTES)));
        assertThat(machine.isOver()).isTrue();
    }

    @Test
    void anImpatientAttemptWhoseTurnCameBeforeItKnewOfTheLineWaitsForItsRequest() {
        machine = patient(0);
        start();
        assertThat(on(new AcquireMachine.Enqueued(), NOW)).isEmpty();
        assertThat(replied(busy(), NOW + MS)).containsExactly(new Finish(new Busy(HOLDER, VOTES)));
    }

    @Test
    void onlyTheFirstRequestMayOutlastTheDeadline() {
        start();
        replied(queued(), NOW + MS);
        assertThat(on(new AcquireMachine.Woken(), NOW + 2 * MS)).containsExactly(new Arm(DEADLINE), new Send(false, 7));
        assertThat(on(new AcquireMachine.TimerFired(), DEADLINE - 1)).containsExactly(new Arm(DEADLINE));
        assertThat(on(new AcquireMachine.TimerFired(), DEADLINE)).containsExactly(new Finish(new Busy(HOLDER, VOTES)));
        assertThat(machine.isOver()).as("the reply is still out").isFalse();
        assertThat(replied(queued(), DEADLINE + MS)).containsExactly(new Undo(7));
        assertThat(machine.isOver()).isTrue();
    }

    @Test
    void aSecondRequestWithoutALimitArmsNothing() {
        machine = patient(NO_LIMIT);
        start();
        assertThat(replied(busy(), NOW)).containsExactly(new Arm(NOW + 5 * MS));
        assertThat(on(new AcquireMachine.TimerFired(), NOW + 5 * MS)).containsExactly(new Send(false, 7));
    }

    @Test
    void theClockTellsNobodyWhoGaveUp() {
        start();
        assertThat(on(new AcquireMachine.GaveUp(), NOW)).containsExactly(new Finish(new AcquireMachine.Abandoned()));
        assertThat(on(new AcquireMachine.TimerFired(), NOW + 1)).isEmpty();
        assertThat(replied(busy(), NOW + 2)).isEmpty();
        assertThat(machine.isOver()).isTrue();
    }

    @Test
    void aLeaseOfThisProcessIsTakenBeforeContendingOnly() {
        assertThat(machine.isOver()).isFalse();
        assertThat(machine.offered()).isEqualTo(Offer.ACCEPTED);
        assertThat(machine.isOver()).isTrue();
        assertThat(machine.offered()).isEqualTo(Offer.GONE);
        assertThat(on(new AcquireMachine.Started(), NOW)).isEmpty();

        machine = patient(WAIT);
        start();
        assertThat(machine.offered()).isEqualTo(Offer.CONTENDING);
    }

    @Test
    void pausesGrowWithEveryTry() {
        start();
        assertThat(replied(busy(), NOW)).containsExactly(new Arm(NOW + 5 * MS));
        on(new AcquireMachine.TimerFired(), NOW + 5 * MS);
        assertThat(replied(busy(), NOW + 5 * MS)).containsExactly(new Arm(NOW + 15 * MS));
        on(new AcquireMachine.TimerFired(), NOW + 15 * MS);
        assertThat(replied(failed(FailureKind.NO_EFFECT), NOW + 15 * MS)).containsExactly(new Arm(NOW + 35 * MS));
    }

    @Test
    void noPauseOutlastsTheDeadline() {
        start();
        assertThat(replied(queued(), NOW)).as("401 ms would be").containsExactly(new Arm(DEADLINE));
        machine = patient(NO_LIMIT);
        start();
        assertThat(replied(queued(), NOW)).containsExactly(new Arm(NOW + 401 * MS));
    }

    @Test
    void aRefusalIsFollowedByThePauseItAsksForWithinReason() {
        assertThat(pauseAfterRefusalFor(50 * MS)).isEqualTo(50 * MS);
        assertThat(pauseAfterRefusalFor(0)).isEqualTo(MS);
        assertThat(pauseAfterRefusalFor(Long.MAX_VALUE))
                .as("times are compared by their difference")
                .isEqualTo(Long.MAX_VALUE / 4);
    }

    private long pauseAfterRefusalFor(long retryNanos) {
        machine = patient(NO_LIMIT);
        start();
        Arm arm = (Arm) replied(new AcquireReply.Refused("quarantine", retryNanos, 7, VOTES), NOW)
                .get(0);
        return arm.atNanos() - NOW;
    }

    @Test
    void aRefusalIsToldAtTheDeadlineAndLeavesNothing() {
        start();
        replied(new AcquireReply.Refused("quarantine", 200 * MS, 7, VOTES), NOW);
        List<Action> end = on(new AcquireMachine.TimerFired(), DEADLINE);
        assertThat(end).hasSize(1);
        assertThat(errorOf(end)).hasMessage("lock \"x\" at the store was refused: quarantine");
        assertThat(errorOf(end).votes()).isEqualTo(VOTES);
    }

    @Test
    void aWakeUpDuringARequestIsFollowedByAnotherAtOnce() {
        start();
        assertThat(on(new AcquireMachine.Woken(), NOW)).isEmpty();
        assertThat(replied(busy(), NOW)).containsExactly(new Arm(DEADLINE), new Send(false, 7));
        assertThat(replied(busy(), NOW)).as("once").containsExactly(new Arm(NOW + 5 * MS));
    }

    @Test
    void aWakeUpDoesNotHurryAStoreThatFails() {
        start();
        on(new AcquireMachine.Woken(), NOW);
        assertThat(replied(failed(FailureKind.NO_EFFECT), NOW)).containsExactly(new Arm(NOW + 5 * MS));
    }

    @Test
    void aWakeUpAfterTheDeadlineChangesNothing() {
        start();
        on(new AcquireMachine.Woken(), NOW);
        assertThat(replied(queued(), DEADLINE)).containsExactly(new Undo(7), new Finish(new Busy(HOLDER, VOTES)));
    }

    @Test
    void whatIsHandedOverIsAskedForAboveItsLastToken() {
        start();
        replied(queued(), NOW);
        assertThat(on(new AcquireMachine.HandedOver(20), NOW)).containsExactly(new Arm(DEADLINE), new Send(false, 20));
        assertThat(on(new AcquireMachine.HandedOver(10), NOW)).isEmpty();
        assertThat(replied(queued(), NOW)).containsExactly(new Arm(DEADLINE), new Send(false, 20));
    }

    @Test
    void whatIsHandedOverToAnEndedOwnerTokenIsNotAskedFor() {
        start();
        replied(spent(7), NOW);
        assertThat(on(new AcquireMachine.HandedOver(20), NOW)).isEmpty();
        assertThat(on(new AcquireMachine.TimerFired(), NOW + 5 * MS))
                .containsExactly(new Arm(DEADLINE), new Send(true, 0));
    }

    @Test
    void aSpentOwnerTokenIsEndedIfAnythingWasProposedWithIt() {
        start();
        assertThat(replied(spent(7), NOW)).containsExactly(new Undo(7), new Arm(NOW + 5 * MS));
        on(new AcquireMachine.TimerFired(), NOW + 5 * MS);
        assertThat(replied(spent(0), NOW + 5 * MS)).containsExactly(new Arm(NOW + 15 * MS));
        List<Action> end = on(new AcquireMachine.TimerFired(), DEADLINE);
        assertThat(end).hasSize(1);
        assertThat(errorOf(end)).hasMessageEndingWith("was refused: too far ahead");
        assertThat(errorOf(end).votes()).isEqualTo(VOTES);
    }

    @Test
    void aSpentOwnerTokenOfOneWhoGaveUpIsEndedToo() {
        start();
        on(new AcquireMachine.GaveUp(), NOW);
        assertThat(replied(spent(7), NOW)).containsExactly(new Undo(7));
    }

    @Test
    void aRefusalThatIsNotSpentLeavesNothingToUndo() {
        start();
        on(new AcquireMachine.GaveUp(), NOW);
        assertThat(replied(new AcquireReply.Refused("quarantine", MS, 7, VOTES), NOW))
                .isEmpty();
    }

    @Test
    void aGrantCountsIfTheLeastValidityIsLeft() {
        long sentAtNanos = NOW - TIMINGS.validityNanos() + TIMINGS.minimumValidityNanos();
        start();
        AcquireReply.Granted reply = (AcquireReply.Granted) granted(sentAtNanos);
        assertThat(replied(reply, NOW)).containsExactly(new Finish(new AcquireMachine.Acquired(reply.grant(), 9)));
        assertThat(machine.isOver()).isTrue();
    }

    @Test
    void aGrantThatTookTooLongIsGivenBackAndAskedForAnew() {
        long sentAtNanos = NOW - TIMINGS.validityNanos() + TIMINGS.minimumValidityNanos() - 1;
        start();
        assertThat(replied(granted(sentAtNanos), NOW)).containsExactly(new Undo(9), new Arm(NOW + 5 * MS));
        assertThat(on(new AcquireMachine.TimerFired(), NOW + 5 * MS))
                .containsExactly(new Arm(DEADLINE), new Send(true, 0));
        List<Action> end = on(new AcquireMachine.TimerFired(), DEADLINE);
        assertThat(errorOf(end))
                .hasMessage("lock \"x\" at the store was granted too slowly: 99 ms of validity were left, 100 ms are"
                        + " needed; it was released");
    }

    @Test
    void whoNeedsNoLeastValidityNeedsANanosecondAllTheSame() {
        Timings undemanding =
                Timings.of(LockOptions.defaults().ttl(Duration.ofSeconds(1)).minimumValidity(Duration.ZERO), false);
        machine = new AcquireMachine("lock", undemanding, POLICY, WAIT, false, NOW);
        start();
        assertThat(replied(granted(NOW - undemanding.validityNanos()), NOW))
                .first()
                .isInstanceOf(Undo.class);
        on(new AcquireMachine.TimerFired(), NOW + 5 * MS);
        assertThat(replied(granted(NOW - undemanding.validityNanos() + 1), NOW))
                .singleElement()
                .isInstanceOf(Finish.class);
    }

    @Test
    void aStoreThatOnlyFailsIsGivenUpAfterATtl() {
        machine = patient(NO_LIMIT);
        start();
        assertThat(failsAgainAt(NOW)).first().isInstanceOf(Arm.class);
        assertThat(failsAgainAt(NOW + TIMINGS.ttlNanos() - 1)).first().isInstanceOf(Arm.class);
        assertThat(errorOf(failsAgainAt(NOW + TIMINGS.ttlNanos()))).isSameAs(down);
        assertThat(machine.isOver()).isTrue();
    }

    @Test
    void anAnswerInBetweenMakesTheStoreWorthWaitingForAgain() {
        machine = patient(NO_LIMIT);
        start();
        failsAgainAt(NOW);
        replied(busy(), NOW + MS);
        on(new AcquireMachine.Woken(), NOW + MS);
        assertThat(failsAgainAt(NOW + TIMINGS.ttlNanos())).first().isInstanceOf(Arm.class);
        assertThat(failsAgainAt(NOW + 2 * TIMINGS.ttlNanos())).first().isInstanceOf(Finish.class);
    }

    /** Reports a failure; if the attempt continues, also sends its next request. */
    private List<Action> failsAgainAt(long nowNanos) {
        List<Action> actions = replied(failed(FailureKind.NO_EFFECT), nowNanos);
        on(new AcquireMachine.Woken(), nowNanos);
        return actions;
    }

    @Test
    void whatCannotBecomeBetterIsToldAtOnce() {
        machine = patient(NO_LIMIT);
        start();
        assertThat(errorOf(replied(failed(FailureKind.PERMANENT), NOW))).isSameAs(down);
    }

    @Test
    void anUnknownOutcomeIsToldAsThatAndUndone() {
        start();
        replied(failed(FailureKind.UNKNOWN), NOW);
        List<Action> end = on(new AcquireMachine.TimerFired(), DEADLINE);
        assertThat(end).hasSize(2).first().isEqualTo(new Undo(7));
        assertThat(errorOf(end))
                .isInstanceOf(AmbiguousAcquireException.class)
                .hasMessage(
                        "lock \"x\" at the store: the outcome of a request is unknown; it is being undone. Last: the"
                                + " store is down")
                .hasCause(down);
    }

    @Test
    void anUnknownOutcomeStaysUnknownThroughFurtherFailuresButNotThroughAnAnswer() {
        start();
        replied(failed(FailureKind.UNKNOWN), NOW);
        on(new AcquireMachine.Woken(), NOW);
        assertThat(errorOf(replied(failed(FailureKind.NO_EFFECT), DEADLINE)))
                .isInstanceOf(AmbiguousAcquireException.class);

        machine = patient(WAIT);
        start();
        replied(failed(FailureKind.UNKNOWN), NOW);
        on(new AcquireMachine.Woken(), NOW);
        replied(busy(), NOW);
        on(new AcquireMachine.Woken(), NOW);
        assertThat(errorOf(replied(failed(FailureKind.NO_EFFECT), DEADLINE))).isSameAs(down);
    }

    @Test
    void aPermanentFailureIsToldAsItselfAlsoAfterAnUnknownOne() {
        start();
        replied(failed(FailureKind.UNKNOWN), NOW);
        on(new AcquireMachine.Woken(), NOW);
        List<Action> end = replied(failed(FailureKind.PERMANENT), NOW);
        assertThat(end).first().isEqualTo(new Undo(7));
        assertThat(errorOf(end)).isSameAs(down);
    }

    /** A clock that has gone back (a machine that was moved) must not cause a second round trip. */
    @Test
    void zeroPatienceAsksOnceAlsoWhereTheClockWentBack() {
        machine = patient(0);
        assertThat(on(new AcquireMachine.Started(), NOW)).hasOnlyElementsOfType(Send.class);
        assertThat(replied(busy(), NOW - WAIT)).hasOnlyElementsOfType(Finish.class);
        assertThat(machine.isOver()).isTrue();

        machine = patient(0);
        assertThat(on(new AcquireMachine.TimerFired(), NOW - 1))
                .as("behind another")
                .hasOnlyElementsOfType(Finish.class);
    }
}
