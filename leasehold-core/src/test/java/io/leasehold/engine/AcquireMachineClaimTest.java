package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Backoff;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.Renewal;
import io.leasehold.StoreUnavailableException;
import io.leasehold.engine.AcquireMachine.Acquired;
import io.leasehold.engine.AcquireMachine.Action;
import io.leasehold.engine.AcquireMachine.Finish;
import io.leasehold.engine.AcquireMachine.Send;
import io.leasehold.engine.AcquireMachine.Undo;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.Claim;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** When the lease of an attempt begins from a message, and when the attempt asks the store instead. */
@Tag("quick")
final class AcquireMachineClaimTest {

    private static final long MS = 1_000_000;
    private static final long NOW = 50_000 * MS;
    private static final long CLAIM = 4_000 * MS;
    /** 4 s less 1 % and 2 ms. */
    private static final long VALIDITY = 3_958 * MS;
    /**
     * The answer to a lost renewal is missed after 3 s; it waits for others for 50 ms before. The next is due 100 ms
     * later, waits for 50 ms, too, and has 50 ms for its answer.
     */
    private static final long LEAST = 3_250 * MS;

    private static final Grant GRANT = grant(NOW);

    private AcquireMachine machine = machine(options -> options, false);

    private static Grant grant(long sentAtNanos) {
        OwnerToken owner = OwnerToken.fromHex("00".repeat(OwnerToken.BYTES));
        return new Grant(owner, new TokenRange(30, 39), sentAtNanos, Incarnation.DURABLE);
    }

    private static AcquireMachine machine(UnaryOperator<LockOptions> change, boolean ofNodes) {
        Timings timings = Timings.of(change.apply(LockOptions.defaults()), ofNodes);
        WaitPolicy policy = new WaitPolicy(3_000 * MS, Backoff.fixed(Duration.ofMillis(10)));
        AcquireMachine made = new AcquireMachine("lock", timings, policy, 60_000 * MS, ofNodes, NOW);
        made.on(new AcquireMachine.Started(), NOW);
        return made;
    }

    private void answered(AcquireReply reply) {
        machine.on(new AcquireMachine.Replied(reply, 0), NOW);
    }

    private static AcquireReply queued(long ballot) {
        return new AcquireReply.Queued(null, ballot, List.of());
    }

    private List<Action> claimed(long nowNanos) {
        HandOver message = new HandOver(LockName.exactly("x"), GRANT.owner().attemptId(), GRANT.tokens(), 1);
        return machine.on(new AcquireMachine.Claimed(new Claim(message, GRANT, CLAIM)), nowNanos);
    }

    @Test
    void aWaiterHoldsFromTheMessage() {
        answered(queued(7));
        assertThat(claimed(NOW + MS)).containsExactly(new Finish(new Acquired(GRANT, 39, CLAIM)));
        assertThat(machine.isOver()).isTrue();
    }

    @Test
    void theReleaseWillRaiseTheFenceToEveryBallotOfTheAttempt() {
        answered(queued(77));
        assertThat(claimed(NOW)).containsExactly(new Finish(new Acquired(GRANT, 77, CLAIM)));
    }

    @Test
    void aClaimThatTheFailureOfOneRenewalWouldUseUpIsAskedFor() {
        answered(queued(7));
        assertThat(claimed(NOW + VALIDITY - LEAST + 1)).isEmpty();
        assertThat(claimed(NOW + VALIDITY - LEAST)).hasSize(1);
    }

    @Test
    void aHolderThatMayEndItsWorkWhileTwoRenewalsWouldFollowAsks() {
        machine = machine(options -> options.minimumValidity(Duration.ofMillis(3_251)), false);
        answered(queued(7));
        assertThat(claimed(NOW)).isEmpty();
        machine = machine(options -> options.minimumValidity(Duration.ofMillis(3_250)), false);
        answered(queued(7));
        assertThat(claimed(NOW)).hasSize(1);
    }

    /** Its answer may be stale, and the ballot would be repeated, perhaps after the release of the lease. */
    @Test
    void aMessageDuringARequestLeavesTheDecisionToTheAnswer() {
        answered(queued(7));
        machine.on(new AcquireMachine.Woken(), NOW);
        assertThat(claimed(NOW)).isEmpty();
        assertThat(machine.on(new AcquireMachine.HandedOver(39), NOW)).isEmpty();
        assertThat(machine.on(new AcquireMachine.Replied(queued(40), 0), NOW)).contains(new Send(false, 40));
    }

    @Test
    void aMessageAfterALostAnswerLeavesTheDecisionToTheNext() {
        answered(queued(7));
        machine.on(new AcquireMachine.Woken(), NOW);
        answered(new AcquireReply.Failed(FailureKind.UNKNOWN, new StoreUnavailableException("lost", null), 8));
        assertThat(claimed(NOW)).isEmpty();
    }

    @Test
    void aMessageForAnOwnerTokenThatHasEndedBeginsNothing() {
        answered(new AcquireReply.Refused("too far ahead", 0, 7, List.of(), true));
        assertThat(claimed(NOW)).isEmpty();
    }

    /** One outcome: whichever event comes first. The undo of the owner token passes the lock on. */
    @Test
    void aMessageAfterTheEndOfTheAttemptBeginsNothing() {
        answered(queued(7));
        assertThat(machine.on(new AcquireMachine.GaveUp(), NOW))
                .containsExactly(new Undo(7), new Finish(new AcquireMachine.Abandoned()));
        assertThat(claimed(NOW)).isEmpty();
    }

    @Test
    void theEndOfTheAttemptAfterTheMessageChangesNothing() {
        answered(queued(7));
        assertThat(claimed(NOW)).hasSize(1);
        assertThat(machine.on(new AcquireMachine.GaveUp(), NOW)).isEmpty();
        assertThat(machine.on(new AcquireMachine.TimerFired(), NOW + 60_000 * MS))
                .isEmpty();
        assertThat(claimed(NOW)).isEmpty();
    }

    @Test
    void patienceThatEndsWithTheMessageIsOneOutcome() {
        answered(queued(7));
        assertThat(machine.on(new AcquireMachine.TimerFired(), NOW + 60_000 * MS))
                .hasSize(2);
        assertThat(claimed(NOW + 60_000 * MS)).isEmpty();
    }

    @Test
    void aFixedTtlIsAskedFor() {
        machine = machine(options -> options.renewal(Renewal.none()), false);
        answered(queued(7));
        assertThat(claimed(NOW)).isEmpty();
    }

    /** A claim does not keep the lock for the delay. */
    @Test
    void aLockDelayIsAskedFor() {
        machine = machine(options -> options.lockDelay(Duration.ofSeconds(1)), false);
        answered(queued(7));
        assertThat(claimed(NOW)).isEmpty();
    }

    /** No renewal is sent once the client is closed or the thread has died: the lock would end with the claim. */
    @Test
    void aLockThatMustStayTakenForATimeIsAskedFor() {
        machine = machine(options -> options.atLeast(Duration.ofSeconds(1)), false);
        answered(queued(7));
        assertThat(claimed(NOW)).isEmpty();
    }

    @Test
    void aSetOfNodesHandsNothingOver() {
        machine = machine(options -> options, true);
        answered(queued(7));
        assertThat(claimed(NOW)).isEmpty();
    }
}
