package io.leasehold.quorum;

import static io.leasehold.quorum.ScriptedSet.MILLI;
import static io.leasehold.quorum.ScriptedSet.NAMES;
import static io.leasehold.quorum.ScriptedSet.SECOND;
import static io.leasehold.quorum.ScriptedSet.TTL;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the decisions about a request over a quorum, without nodes, timers and threads. */
@Tag("quick")
final class QuorumAttemptTest {

    private static final long BOUND = QuorumSettings.standard().boundMicros();

    private final OwnerToken owner = OwnerToken.draw(new HandClock());
    private final QuorumRound round = new QuorumRound(List.of("a", "b", "c"), 7_500_000, 31_300);
    private final QuorumAttempt attempt = new QuorumAttempt(NAMES, 3, "3 nodes", QuorumSettings.standard());

    private AcquireRequest request() {
        return AcquireRequest.exclusive(NAMES, owner, "host/1/x", TTL, SECOND);
    }

    private QuorumAttempt.Next after(RoundVerdict verdict, long nowNanos) {
        return attempt.after(verdict, round, owner, nowNanos);
    }

    private static RoundVerdict held(int queued) {
        return new RoundVerdict.Contended(null, true, queued);
    }

    @Test
    void aBallotIsAboveWhatWasSeenProposedAndTheClock() {
        attempt.asked(request().seenToken(100).reserve(4), 0, 0);
        assertThat(attempt.begin(round, OptionalLong.of(50), List.of())).isEqualTo(new QuorumAttempt.Begin(101, 4));
        assertThat(attempt.begin(round, OptionalLong.of(200), List.of())).isEqualTo(new QuorumAttempt.Begin(200, 4));
        attempt.asked(request().seenToken(100).ballotSoFar(300), 0, 0);
        assertThat(attempt.begin(round, OptionalLong.of(200), List.of())).isEqualTo(new QuorumAttempt.Begin(301, 1));
        round.start(400, 5, new BitSet());
        assertThat(attempt.begin(round, OptionalLong.of(200), List.of())).isEqualTo(new QuorumAttempt.Begin(405, 1));
    }

    /** All clocks went back. The attempt would be refused until they have caught up, while others may be granted the lock. */
    @Test
    void aWaiterWhoseBallotsEveryNodeWouldRefuseIsSpent() {
        long clock = 1_000_000_000;
        attempt.asked(request().waiting(SECOND).ballotSoFar(clock + BOUND - 1), 0, 0);
        assertThat(begun(clock)).isEqualTo(new QuorumAttempt.Begin(clock + BOUND, 1));
        attempt.asked(request().waiting(SECOND).ballotSoFar(clock + BOUND), 0, 0);
        assertThat(begun(clock)).isInstanceOfSatisfying(QuorumAttempt.Answer.class, answer -> {
            assertThat(answer.delays()).isEqualTo(QuorumAttempt.Delays.OVER);
            assertThat(answer.reply()).isInstanceOfSatisfying(AcquireReply.Refused.class, refused -> {
                assertThat(refused.spent()).isTrue();
                assertThat(refused.reason()).contains("the clocks of the nodes went back");
            });
        });
        attempt.answered(2, stale(clock + BOUND), clock);
        assertThat(begun(clock)).as("above a floor of a node").isInstanceOf(QuorumAttempt.Begin.class);
    }

    /** The next owner token would have to stay above the seen token, too; and each end raises the fences. */
    @Test
    void noOtherOwnerTokenIsTakenWhereItWouldNotHelpOrIsNotExpected() {
        long clock = 1_000_000_000;
        long ahead = clock + 2 * BOUND;
        attempt.asked(request().waiting(SECOND).seenToken(clock + BOUND).ballotSoFar(ahead), 0, 0);
        assertThat(begun(clock)).as("a seen token").isEqualTo(new QuorumAttempt.Begin(ahead + 1, 1));
        attempt.asked(request().waiting(SECOND).seenToken(clock + BOUND - 1).ballotSoFar(ahead), 0, 0);
        assertThat(begun(clock)).isInstanceOf(QuorumAttempt.Answer.class);
        attempt.asked(request().ballotSoFar(ahead), 0, 0);
        assertThat(begun(clock)).as("a resumed ticket, or a downgrade").isInstanceOf(QuorumAttempt.Begin.class);
    }

    private QuorumAttempt.Next begun(long clock) {
        return attempt.begin(round, OptionalLong.of(clock), List.of());
    }

    @Test
    void aWaiterAsksForAPlaceUntilOneNodeMoreThanAMinorityWakesIt() {
        attempt.asked(request().waiting(SECOND), 0, 0);
        List<Long> pauses = new ArrayList<>();
        QuorumAttempt.Next next = after(held(1), 0);
        while (next instanceof QuorumAttempt.AskAgain again) {
            pauses.add(again.pauseNanos() / MILLI);
            next = after(held(1), 0);
        }
        assertThat(pauses).containsExactly(5L, 10L, 20L, 40L, 80L, 160L);
        assertThat(next).isInstanceOfSatisfying(QuorumAttempt.Answer.class, answer -> {
            assertThat(answer.reply()).isInstanceOf(AcquireReply.Busy.class);
            assertThat(answer.delays()).isEqualTo(QuorumAttempt.Delays.OVER);
        });
        attempt.asked(request().waiting(SECOND), 0, 0);
        assertThat(after(held(2), 0))
                .isInstanceOfSatisfying(
                        QuorumAttempt.Answer.class,
                        answer -> assertThat(answer.reply()).isInstanceOf(AcquireReply.Queued.class));
        assertThat(after(held(1), SECOND / 2 - 5 * MILLI - 1))
                .as("within half of its time")
                .isInstanceOf(QuorumAttempt.AskAgain.class);
        assertThat(after(held(1), SECOND / 2 - 10 * MILLI)).isInstanceOf(QuorumAttempt.Answer.class);
    }

    @Test
    void splitVotesMakeTheDelaysOfAWaiterLonger() {
        RoundVerdict split = new RoundVerdict.Contended(null, false, 3);
        attempt.asked(request().waiting(SECOND), 0, 0);
        assertThat(after(split, 0)).isInstanceOfSatisfying(QuorumAttempt.Answer.class, answer -> {
            assertThat(answer.reply()).isInstanceOf(AcquireReply.Queued.class);
            assertThat(answer.delays()).isEqualTo(QuorumAttempt.Delays.LONGER);
        });
        attempt.asked(request(), 0, 0);
        assertThat(after(split, 0)).isInstanceOfSatisfying(QuorumAttempt.Answer.class, answer -> {
            assertThat(answer.reply()).isInstanceOf(AcquireReply.Busy.class);
            assertThat(answer.delays()).isEqualTo(QuorumAttempt.Delays.KEPT);
        });
    }

    @Test
    void aRepairIsAboveEveryBallotAndTheFloorOfItsNode() {
        attempt.asked(request().waiting(SECOND).reserve(3), 0, 0);
        attempt.answered(1, stale(70), 50);
        attempt.answered(1, stale(60), 50);
        assertThat(attempt.floor(1)).isEqualTo(70);
        assertThat(attempt.repair(0, owner, 50).candidate()).isEqualTo(50);
        Ballot repair = attempt.repair(1, owner, 50);
        assertThat(repair.candidate()).isEqualTo(71);
        assertThat(repair.reserve()).isEqualTo(1);
        assertThat(repair.request().isWaiting()).isFalse();
        assertThat(attempt.highest(round)).as("none was sent").isZero();
        attempt.proposed(71);
        assertThat(attempt.repair(0, owner, 50).candidate()).isEqualTo(72);
        assertThat(attempt.highest(round)).as("an end stops the repairs, too").isEqualTo(71);
    }

    private static NodeReply stale(long floor) {
        return new NodeReply.Stale(floor, new Incarnation("life"), 0);
    }

    /** As in the round: a fence further ahead of the clocks than the bound shows a wrong clock. */
    @Test
    void aFloorBeyondTheBoundIsNotRemembered() {
        attempt.asked(request(), 0, 0);
        attempt.answered(0, stale(1_000 + BOUND), 1_000);
        attempt.answered(1, stale(1_001 + BOUND), 1_000);
        assertThat(attempt.floor(0)).as("at the bound").isEqualTo(1_000 + BOUND);
        assertThat(attempt.floor(1)).as("beyond the bound").isZero();
        assertThat(attempt.repair(1, owner, 1_000).candidate()).isEqualTo(1_000);
        attempt.answered(1, stale(1_001 + BOUND), 0);
        assertThat(attempt.floor(1)).as("without a clock to compare with").isEqualTo(1_001 + BOUND);
    }

    @Test
    void beforeARequestTheLargestTtlCounts() {
        assertThat(attempt.isAsked()).isFalse();
        assertThat(attempt.isWaiting()).isFalse();
        assertThat(attempt.ttlNanos()).isEqualTo(30 * SECOND);
        assertThatIllegalStateException().isThrownBy(() -> attempt.nodeTimeoutNanos(0));
        attempt.asked(request(), 0, 0);
        assertThat(attempt.isAsked()).isTrue();
        assertThat(attempt.ttlNanos()).isEqualTo(TTL);
        assertThat(attempt.undo()).isEqualTo(ReleaseRequest.Kind.UNDO);
        attempt.asked(request().waiting(SECOND), 0, 0);
        assertThat(attempt.undo()).as("it keeps its place").isEqualTo(ReleaseRequest.Kind.SUPERSEDED);
    }

    /** Otherwise a node that refuses and has one stale key would keep the distant nodes from being heard. */
    @Test
    void theTimeForDistantNodesGrowsUntilARoundNeedsNoneOfThem() {
        attempt.asked(request().waiting(SECOND), 0, 0);
        RoundVerdict refused = new RoundVerdict.Refused("quarantine", MILLI);
        RoundVerdict split = new RoundVerdict.Contended(null, false, 0);
        for (RoundVerdict verdict : List.of(refused, split, new RoundVerdict.NoQuorum(false), split)) {
            attempt.limitReached();
            after(verdict, 0);
        }
        assertThat(attempt.limitNanos(0, 1)).hasValue(20 * MILLI);
        after(held(2), 0);
        assertThat(attempt.limitNanos(0, 1)).hasValue(5 * MILLI);
    }
}
