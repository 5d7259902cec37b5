package io.leasehold.quorum;

import static io.leasehold.quorum.ScriptedSet.MILLI;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.node.Ballot;
import io.leasehold.node.Birth;
import io.leasehold.node.LockNode;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that an unborn node receives its birth from a client that a quorum knows, after any earlier failure. */
@Tag("quick")
final class BirthMarkersTest {

    private final HandClock clock = new HandClock();
    private final List<ScriptedNode> nodes =
            List.of(new ScriptedNode(clock), new ScriptedNode(clock), new ScriptedNode(clock));
    private final NodeSet set = ScriptedSet.nodes(nodes, clock);

    private NodeReply vote(int node) {
        AcquireRequest request = AcquireRequest.exclusive(
                ScriptedSet.NAMES, OwnerToken.draw(clock), "host/1/x", ScriptedSet.TTL, ScriptedSet.SECOND);
        long micros = clock.wallMillis() * 1_000;
        return clock.answer(set.propose(node, LockNode::acquire, new Ballot(request, micros, 1), micros, 0));
    }

    private void clockOf(int node, long aheadMicros) {
        Incarnation life = new Incarnation("life-" + node);
        nodes.get(node)
                .instead
                .put("probe", () -> new NodeReply.Stale(0, life, clock.wallMillis() * 1_000 + aheadMicros));
    }

    private NodeReply unborn(int node, String nonce) {
        return new NodeReply.Unborn(nonce, new Incarnation("life-" + node), clock.wallMillis() * 1_000);
    }

    private NodeReply other(int node) {
        return new NodeReply.OtherSet("others", new Incarnation("life-" + node), clock.wallMillis() * 1_000);
    }

    private NodeReply busy(int node) {
        return new NodeReply.Held(null, false, new Incarnation("life-" + node), clock.wallMillis() * 1_000);
    }

    @Test
    void theBirthIsTheLaterClockOfAQuorumReadAfterwards() {
        for (int node = 0; node < 3; node++) {
            clockOf(node, 1_000L * node);
            nodes.get(node).answers("acquire", unborn(node, "nonce-" + node));
        }
        vote(0);
        assertThat(nodes.get(0).births).as("no other node has answered yet").isEmpty();
        vote(1);
        clock.pass(java.time.Duration.ofMillis(100));
        long born = 1_800_000_005_000L * 1_000 + 1_000;
        assertThat(nodes.get(0).births).containsExactly(new Birth("nonce-0", born, set.configuration(), 500 * MILLI));
        assertThat(nodes.get(1).births).containsExactly(new Birth("nonce-1", born, set.configuration(), 500 * MILLI));
        assertThat(nodes.get(2).births).isEmpty();
    }

    @Test
    void nothingIsToldWhileANodeBelongsToAnotherSet() {
        nodes.get(0).answers("acquire", other(0));
        vote(0);
        nodes.get(1).answers("acquire", unborn(1, "nonce"));
        nodes.get(2).answers("acquire", unborn(2, "nonce"));
        vote(1);
        vote(2);
        assertThat(nodes).allSatisfy(node -> assertThat(node.births).isEmpty());
        nodes.get(0).answers("acquire", busy(0));
        vote(0);
        assertThat(nodes.get(1).births).hasSize(1);
        assertThat(nodes.get(2).births).hasSize(1);
    }

    @Test
    void aNodeThatHasBeenBornMeanwhileIsToldNothing() {
        nodes.get(0).answers("acquire", unborn(0, "nonce"));
        vote(0);
        nodes.get(0).answers("acquire", busy(0));
        vote(0);
        nodes.get(1).answers("acquire", busy(1));
        vote(1);
        assertThat(nodes.get(0).births).isEmpty();
    }

    @Test
    void aBirthForWhichNoQuorumShowedItsClockIsToldAfterTheNextVote() {
        nodes.get(0).answers("acquire", unborn(0, "nonce"));
        nodes.get(1).answers("acquire", busy(1));
        vote(1);
        nodes.get(1).answers("probe", ScriptedSet.failed(FailureKind.UNKNOWN));
        nodes.get(2).answers("probe", ScriptedSet.failed(FailureKind.UNKNOWN));
        vote(0);
        assertThat(nodes.get(0).births).as("one clock is no quorum").isEmpty();
        nodes.get(1).answersItself("probe");
        vote(0);
        assertThat(nodes.get(0).births).hasSize(1);
    }

    @Test
    void aBirthThatCouldNotBeAskedForIsToldAfterTheNextVote() {
        nodes.get(0).answers("acquire", unborn(0, "nonce"));
        nodes.get(1).answers("acquire", busy(1));
        vote(1);
        clock.noTimers = true;
        assertThat(vote(0)).as("the vote counts all the same").isInstanceOf(NodeReply.Unborn.class);
        clock.noTimers = false;
        assertThat(nodes.get(0).births).isEmpty();
        vote(0);
        assertThat(nodes.get(0).births).hasSize(1);
    }

    @Test
    void whatIsFoundUnbornWhileClocksAreReadIsToldNext() {
        for (ScriptedNode node : nodes) {
            node.delayNanos.put("probe", 20 * MILLI);
        }
        nodes.get(2).answers("acquire", busy(2));
        vote(2);
        nodes.get(0).answers("acquire", unborn(0, "first"));
        vote(0);
        nodes.get(1).answers("acquire", unborn(1, "second"));
        vote(1);
        assertThat(nodes.get(0).verbs.stream().filter("probe"::equals))
                .as("one question at a time")
                .hasSize(1);
        clock.pass(java.time.Duration.ofMillis(30));
        assertThat(nodes.get(0).births).extracting(Birth::nonce).containsExactly("first");
        assertThat(nodes.get(1).births).isEmpty();
        clock.pass(java.time.Duration.ofMillis(30));
        assertThat(nodes.get(1).births).extracting(Birth::nonce).containsExactly("second");
        vote(0);
        clock.pass(java.time.Duration.ofMillis(30));
        assertThat(nodes.get(0).births).as("told as often as it asks").hasSize(2);
    }
}
