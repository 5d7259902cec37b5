package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.StoreUnavailableException;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import java.util.BitSet;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the nodes for which a round waits: not for silent nodes, and under contention only for a short time. */
@Tag("quick")
final class QuorumRoundSilenceTest {

    private static final long MILLI = 1_000_000L;
    private static final long FIRST = 1_000;
    private static final long SENT = Long.MAX_VALUE - 3;
    private static final Incarnation LIFE = new Incarnation("life");
    private static final NodeReply YES = new NodeReply.Yes(LIFE, 0);
    private static final NodeReply HELD = new NodeReply.Held(null, true, LIFE, 0);
    private static final NodeReply STALE = new NodeReply.Stale(FIRST + 50, LIFE, 0);
    private static final NodeReply FAILED =
            new NodeReply.Failed(FailureKind.NO_EFFECT, new StoreUnavailableException("no route", null));

    private final QuorumRound round = new QuorumRound(List.of("a", "b", "c", "d", "e"), 1_000_000, 1_000);

    private List<QuorumRound.Action> start(int... silent) {
        BitSet nodes = new BitSet();
        for (int node : silent) {
            nodes.set(node);
        }
        return round.start(FIRST, 1, nodes);
    }

    private List<QuorumRound.Action> voted(int node, NodeReply reply, long afterNanos) {
        return round.voted(new QuorumRound.Vote(node, FIRST, SENT, SENT + afterNanos, reply, 0));
    }

    private List<QuorumRound.Action> voted(int node, NodeReply reply) {
        return voted(node, reply, 1);
    }

    private static RoundVerdict verdict(List<QuorumRound.Action> actions) {
        return actions.stream()
                .filter(QuorumRound.Finish.class::isInstance)
                .map(action -> ((QuorumRound.Finish) action).verdict())
                .findFirst()
                .orElseThrow();
    }

    @Test
    void aRoundIsLostWithoutTheSilentNodesOnceTheOthersHaveAnswered() {
        start(3, 4);
        assertThat(voted(0, HELD))
                .as("whether the holder has a quorum is not known yet")
                .isEmpty();
        assertThat(voted(1, HELD)).isEmpty();
        List<QuorumRound.Action> end = voted(2, HELD);
        assertThat(verdict(end)).isEqualTo(new RoundVerdict.Contended(null, true, 3));
        assertThat(end).as("nothing is known to be left at a node").hasSize(1);
    }

    @Test
    void theAnswerOfASilentNodeCounts() {
        start(3, 4);
        voted(0, YES);
        voted(4, YES);
        assertThat(verdict(voted(1, YES))).isInstanceOf(RoundVerdict.Won.class);
    }

    @Test
    void aSilentNodeThatGrantsALostRoundIsUndone() {
        start(3, 4);
        voted(0, HELD);
        voted(1, HELD);
        voted(2, HELD);
        assertThat(round.isForgotten()).isFalse();
        assertThat(voted(3, YES)).containsExactly(new QuorumRound.Undo());
    }

    @Test
    void aVoteOfALostRoundIsUndone() {
        start(3, 4);
        voted(0, YES);
        voted(1, HELD);
        List<QuorumRound.Action> end = voted(2, HELD);
        assertThat(end.get(0)).isEqualTo(new QuorumRound.Undo());
        assertThat(verdict(end)).isEqualTo(new RoundVerdict.Contended(null, false, 2));
    }

    @Test
    void silentNodesThatAreNotNeededChangeNothing() {
        start(4);
        voted(0, YES);
        voted(1, HELD);
        assertThat(voted(2, YES)).as("the fourth may still decide").noneMatch(QuorumRound.Finish.class::isInstance);
        assertThat(verdict(voted(3, YES))).isInstanceOf(RoundVerdict.Won.class);
    }

    @Test
    void whatTheCallerDoesWithItsSetLaterChangesNothing() {
        BitSet nodes = new BitSet();
        round.start(FIRST, 1, nodes);
        nodes.set(0, 5);
        voted(0, HELD);
        voted(1, HELD);
        assertThat(voted(2, YES)).noneMatch(QuorumRound.Finish.class::isInstance);
    }

    @Test
    void underContentionTheTimeForTheRestIsLimitedOnceAMajorityHasAnswered() {
        start();
        voted(0, YES, 3 * MILLI);
        voted(1, HELD, 4 * MILLI);
        assertThat(voted(2, YES, 5 * MILLI)).containsExactly(new QuorumRound.Limit(FIRST, SENT, 5 * MILLI));
        assertThat(voted(3, HELD, 6 * MILLI)).as("once a ballot").isEmpty();
        List<QuorumRound.Action> end = round.late(FIRST);
        assertThat(end.get(0)).isEqualTo(new QuorumRound.Undo());
        assertThat(verdict(end)).isInstanceOf(RoundVerdict.Contended.class);
    }

    @Test
    void aBallotThatIsOvertakenIsContentionToo() {
        start();
        voted(0, YES);
        voted(1, STALE);
        assertThat(voted(2, YES, 2 * MILLI)).containsExactly(new QuorumRound.Limit(FIRST, SENT, 2 * MILLI));
        assertThat(round.late(FIRST)).singleElement().isInstanceOf(QuorumRound.Propose.class);
    }

    @Test
    void aNodeThatFailsIsNotOneOfTheMajority() {
        start();
        voted(0, HELD);
        voted(1, FAILED);
        assertThat(voted(2, YES)).isEmpty();
        assertThat(voted(3, YES)).containsExactly(new QuorumRound.Limit(FIRST, SENT, 1));
    }

    /**
     * If the third near node of a set is down, the set needs a distant one. The round waits for it, else the lock could
     * never be acquired.
     */
    @Test
    void withoutContentionTheRestGetsTheNodeTimeout() {
        start();
        voted(0, YES);
        voted(1, FAILED);
        assertThat(voted(2, YES)).isEmpty();
        assertThat(verdict(voted(3, YES, 40 * MILLI))).isInstanceOf(RoundVerdict.Won.class);
    }

    /** A node in quarantine answers at once, and can no more grant than one that fails: the distant ones are needed. */
    @Test
    void aNodeThatMayNotGrantIsNotOneOfTheMajority() {
        start();
        voted(0, YES);
        voted(1, HELD);
        assertThat(voted(2, new NodeReply.Refused("quarantine", 1, LIFE, 0))).isEmpty();
        voted(3, YES, 40 * MILLI);
        assertThat(verdict(voted(4, YES, 40 * MILLI))).isInstanceOf(RoundVerdict.Won.class);
    }
}
