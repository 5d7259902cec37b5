package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.StoreUnavailableException;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.TokenRange;
import java.util.BitSet;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the ballots that an owner token proposes, of their number, and of the time when nothing of it is left. */
@Tag("quick")
final class QuorumRoundBallotsTest {

    private static final long FIRST = 1_000;
    private static final int RESERVE = 4;
    private static final long BOUND_MICROS = 1_000;
    private static final Incarnation LIFE = new Incarnation("life");
    private static final NodeReply YES = new NodeReply.Yes(LIFE, 0);
    private static final NodeReply HELD = new NodeReply.Held(null, false, LIFE, 0);
    private static final NodeReply UNKNOWN =
            new NodeReply.Failed(FailureKind.UNKNOWN, new StoreUnavailableException("no answer", null));
    private static final NodeReply NO_EFFECT =
            new NodeReply.Failed(FailureKind.NO_EFFECT, new StoreUnavailableException("no route", null));

    private final QuorumRound round = new QuorumRound(List.of("a", "b", "c"), BOUND_MICROS, 1_000);

    private List<QuorumRound.Action> start() {
        return round.start(FIRST, RESERVE, new BitSet());
    }

    private List<QuorumRound.Action> voted(int node, long candidate, NodeReply reply) {
        return round.voted(new QuorumRound.Vote(node, candidate, 1, 1, reply, 0));
    }

    private List<QuorumRound.Action> overtaken(long candidate, long floor) {
        NodeReply stale = new NodeReply.Stale(floor, LIFE, 0);
        voted(0, candidate, stale);
        return voted(1, candidate, stale);
    }

    private static boolean proposes(List<QuorumRound.Action> actions) {
        return actions.get(0) instanceof QuorumRound.Propose;
    }

    @Test
    void theHighestTokenIsTheLastReserved() {
        assertThat(round.highest()).isZero();
        assertThat(start()).containsExactly(new QuorumRound.Propose(FIRST));
        assertThat(round.highest()).isEqualTo(FIRST + RESERVE - 1);
    }

    @Test
    void eachFurtherBallotLeadsByTwiceAsMuch() {
        start();
        assertThat(overtaken(FIRST, 5_000)).containsExactly(new QuorumRound.Propose(5_000 + RESERVE));
        assertThat(overtaken(5_004, 6_000)).containsExactly(new QuorumRound.Propose(6_000 + 2 * RESERVE));
        assertThat(overtaken(6_008, 100))
                .as("never below what was reserved before")
                .containsExactly(new QuorumRound.Propose(6_008 + RESERVE - 1 + 4 * RESERVE));
        assertThat(round.highest()).isEqualTo(6_027 + RESERVE - 1);
    }

    @Test
    void twelveFurtherBallotsAreEnough() {
        start();
        long candidate = FIRST;
        for (int further = 0; further < 12; further++) {
            List<QuorumRound.Action> actions = overtaken(candidate, candidate + 10);
            assertThat(proposes(actions)).as("further ballot %s", further + 1).isTrue();
            candidate = ((QuorumRound.Propose) actions.get(0)).candidate();
        }
        assertThat(overtaken(candidate, candidate + 10))
                .containsExactly(new QuorumRound.Finish(
                        new RoundVerdict.Refused("every fencing token proposed was overtaken", 10_000_000)));
    }

    @Test
    void aFurtherBallotIsOnlyProposedIfItCouldWin() {
        start();
        voted(0, FIRST, HELD);
        assertThat(proposes(voted(1, FIRST, new NodeReply.Stale(5_000, LIFE, 0))))
                .as("the node that was overtaken and the one that has not answered would be a quorum")
                .isTrue();
    }

    @Test
    void theOneThatGrantedAndTheOneThatWasOvertakenAreAQuorum() {
        start();
        voted(0, FIRST, HELD);
        voted(1, FIRST, YES);
        assertThat(proposes(voted(2, FIRST, new NodeReply.Stale(5_000, LIFE, 0))))
                .isTrue();
    }

    @Test
    void tokensKeepClearOfTheirLimit() {
        long clear = (long) RESERVE << 2;
        start();
        assertThat(proposes(overtaken(FIRST, TokenRange.LIMIT - clear - 1))).isTrue();

        QuorumRound other = new QuorumRound(List.of("a"), BOUND_MICROS, 1_000);
        other.start(FIRST, RESERVE, new BitSet());
        NodeReply tooHigh = new NodeReply.Stale(TokenRange.LIMIT - clear, LIFE, 0);
        assertThat(proposes(other.voted(new QuorumRound.Vote(0, FIRST, 1, 1, tooHigh, 0))))
                .isFalse();
    }

    @Test
    void aFloorIsBelievedUpToTheBound() {
        start();
        NodeReply atTheBound = new NodeReply.Stale(9_000 + BOUND_MICROS, LIFE, 0);
        round.voted(new QuorumRound.Vote(0, FIRST, 1, 1, atTheBound, 9_000));
        assertThat(round.voted(new QuorumRound.Vote(1, FIRST, 1, 1, atTheBound, 9_000)))
                .containsExactly(new QuorumRound.Propose(9_000 + BOUND_MICROS + RESERVE));
    }

    @Test
    void everyFloorIsBelievedWhileNoClockIsKnown() {
        start();
        assertThat(overtaken(FIRST, 1L << 50)).containsExactly(new QuorumRound.Propose((1L << 50) + RESERVE));
    }

    @Test
    void aRoundBeginsAboveWhatWasReserved() {
        start();
        assertThatThrownBy(() -> round.start(5_000, RESERVE, new BitSet()))
                .as("while a round is under way")
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("ASKING");
        voted(0, FIRST, HELD);
        voted(1, FIRST, HELD);
        long highest = round.highest();
        assertThatThrownBy(() -> round.start(highest, RESERVE, new BitSet()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("ballot " + highest + " after " + highest);
        assertThat(round.start(highest + 1, RESERVE, new BitSet()))
                .containsExactly(new QuorumRound.Propose(highest + 1));
    }

    @Test
    void whatWasNeverSentIsForgotten() {
        assertThat(round.isForgotten()).isTrue();
        start();
        assertThat(round.isForgotten()).as("asking").isFalse();
    }

    @Test
    void nothingIsForgottenWhileAnAnswerIsMissing() {
        start();
        voted(0, FIRST, HELD);
        voted(1, FIRST, NO_EFFECT);
        assertThat(round.isForgotten()).as("lost, but c may still grant").isFalse();
        voted(2, FIRST, HELD);
        assertThat(round.isForgotten()).isTrue();
    }

    @Test
    void everyBallotIsAnsweredBeforeAnythingIsForgotten() {
        start();
        overtaken(FIRST, 5_000);
        long second = round.highest() - RESERVE + 1;
        for (int node = 0; node < 3; node++) {
            voted(node, second, HELD);
        }
        assertThat(round.isForgotten())
                .as("c has not answered the first ballot")
                .isFalse();
        voted(2, FIRST, HELD);
        assertThat(round.isForgotten()).isTrue();
    }

    @Test
    void whatANodeMayKeepIsNotForgotten() {
        for (NodeReply left : List.of(YES, UNKNOWN)) {
            QuorumRound other = new QuorumRound(List.of("a", "b", "c"), BOUND_MICROS, 1_000);
            other.start(FIRST, RESERVE, new BitSet());
            other.voted(new QuorumRound.Vote(0, FIRST, 1, 1, left, 0));
            other.voted(new QuorumRound.Vote(1, FIRST, 1, 1, HELD, 0));
            other.voted(new QuorumRound.Vote(2, FIRST, 1, 1, HELD, 0));
            assertThat(other.isForgotten()).as("after %s", left).isFalse();
            assertThat(other.isEnded()).as("after %s", left).isTrue();
        }
    }

    @Test
    void aSpentRefusalMayHaveLeftSomething() {
        start();
        voted(0, FIRST, new NodeReply.Refused("not acknowledged by its replicas", 1, LIFE, 0, true));
        assertThat(voted(1, FIRST, HELD)).contains(new QuorumRound.Undo());
        assertThat(round.isEnded()).isTrue();
    }

    @Test
    void whatIsHeldIsNotForgottenAndItsEndIsForGood() {
        start();
        voted(0, FIRST, YES);
        voted(1, FIRST, YES);
        voted(2, FIRST, HELD);
        assertThat(round.isForgotten()).isFalse();
        assertThat(round.isEnded()).isFalse();

        round.end();

        assertThat(round.isEnded()).isTrue();
        assertThat(voted(2, FIRST, YES))
                .as("nothing joins a grant that is over")
                .isEmpty();
        round.end();
        assertThat(round.isEnded()).isTrue();
        assertThatThrownBy(() -> round.start(5_000, RESERVE, new BitSet())).hasMessageContaining("ENDED");
    }

    /** A lost round does not touch a lock that the client already holds (a waiter that asks again). */
    @Test
    void aLostRoundOfAHeldLockUndoesNothing() {
        start();
        voted(0, FIRST, YES);
        voted(1, FIRST, YES);
        round.start(5_000, RESERVE, new BitSet());
        voted(0, 5_000, UNKNOWN);
        assertThat(voted(1, 5_000, UNKNOWN)).containsExactly(new QuorumRound.Finish(new RoundVerdict.NoQuorum(false)));
        assertThat(voted(2, FIRST, YES)).containsExactly(new QuorumRound.Confirm(2, 1));
        assertThat(voted(2, 5_000, UNKNOWN)).isEmpty();
    }

    @Test
    void onlyTheFirstAnswerOfANodeToABallotCounts() {
        start();
        voted(0, FIRST, HELD);
        assertThat(voted(0, FIRST, HELD)).isEmpty();
        voted(1, FIRST, YES);
        assertThat(voted(2, FIRST, YES).get(0)).isInstanceOf(QuorumRound.Finish.class);
    }

    @Test
    void theTimeOfAnotherBallotIsNotThisOnes() {
        start();
        assertThat(round.late(FIRST + 1)).isEmpty();
        voted(0, FIRST, YES);
        assertThat(round.late(FIRST))
                .containsExactly(new QuorumRound.Undo(), new QuorumRound.Finish(new RoundVerdict.NoQuorum(false)));
    }
}
