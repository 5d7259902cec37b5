package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.node.NodeReply;
import io.leasehold.spi.Incarnation;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of each rule of the count of votes. */
@Tag("quick")
final class VoteTallyTest {

    private static final List<String> NODES = List.of("node-0", "node-1", "node-2");
    private static final Incarnation LIFE = new Incarnation("life");
    private static final NodeReply YES = new NodeReply.Yes(LIFE, 1);

    private static NodeReply stale(long floor) {
        return new NodeReply.Stale(floor, LIFE, 1);
    }

    private static VoteTally tally(@Nullable NodeReply... votes) {
        return new VoteTally(NODES, votes, new boolean[votes.length], 0, 0, 1_000);
    }

    @Test
    void aQuorumOfYesWinsAndFewerLoseOnceTheOthersHaveAnswered() {
        assertThat(tally(YES, YES, null).isWon()).isTrue();
        assertThat(tally(YES, stale(5), null).isLost()).isFalse();
        assertThat(tally(stale(4), stale(5), null).isLost()).isTrue();
    }

    @Test
    void anotherBallotHelpsOnlyWhereOneWasTooLow() {
        assertThat(tally(YES, null, null).mayBeWonByAnotherBallot()).isFalse();
        assertThat(tally(stale(4), stale(5), null).mayBeWonByAnotherBallot()).isTrue();
        assertThat(tally(stale(4), stale(5), null).floor()).isEqualTo(5);
    }

    @Test
    void whereNoneHeldTheLockTheRoundWasNotContended() {
        assertThat(tally(stale(4), stale(5), stale(6)).verdict())
                .isInstanceOfSatisfying(
                        RoundVerdict.Refused.class,
                        refused ->
                                assertThat(refused.reason()).isEqualTo("every fencing token proposed was overtaken"));
        assertThat(tally(YES, stale(5), stale(6)).verdict()).isInstanceOf(RoundVerdict.Contended.class);
    }
}
