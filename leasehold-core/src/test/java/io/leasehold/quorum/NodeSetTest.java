package io.leasehold.quorum;

import static io.leasehold.quorum.ScriptedSet.MILLI;
import static io.leasehold.quorum.ScriptedSet.NAME;
import static io.leasehold.quorum.ScriptedSet.SECOND;
import static io.leasehold.quorum.ScriptedSet.TTL;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Guarantee;
import io.leasehold.LockListener.NodeChanged;
import io.leasehold.LockListener.NodeStanding;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.node.Ballot;
import io.leasehold.node.LockNode;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the requests that a node may receive, of the answers that count, and of the state that they change. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class NodeSetTest {

    private static final long BOUND = QuorumSettings.standard().boundMicros();

    private final HandClock clock = new HandClock();
    private final List<ScriptedNode> nodes =
            List.of(new ScriptedNode(clock), new ScriptedNode(clock), new ScriptedNode(clock));
    private final NodeSet set = ScriptedSet.nodes(nodes, clock);

    private long micros() {
        return clock.wallMillis() * 1_000;
    }

    private Ballot ballot(long candidate, int reserve) {
        return new Ballot(
                AcquireRequest.exclusive(ScriptedSet.NAMES, OwnerToken.draw(clock), "host/1/x", TTL, SECOND),
                candidate,
                reserve);
    }

    private NodeReply propose(int node, long candidate, long floor) {
        return clock.answer(set.propose(node, LockNode::acquire, ballot(candidate, 1), micros(), floor));
    }

    private NodeReply yes(String life, long aheadMicros) {
        return new NodeReply.Yes(new Incarnation(life), micros() + aheadMicros);
    }

    private static List<RenewBatch.Item> items(HandClock clock) {
        return List.of(
                new RenewBatch.Item(NAME, OwnerToken.draw(clock), TTL),
                new RenewBatch.Item(NAME, OwnerToken.draw(clock), TTL));
    }

    @Test
    void aMemberIsToldTheSetTheClockAndTheSpans() {
        nodes.get(0).answers("acquire", yes("a", 0));
        assertThat(clock.answer(set.propose(0, LockNode::acquire, ballot(micros() + 5, 1), micros(), 0)))
                .isInstanceOf(NodeReply.Yes.class);
        assertThat(nodes.get(0).memberships)
                .containsExactly(new Membership(
                        set.configuration(), micros(), 31_300_000, 7_500_000, Membership.Persistence.VOLATILE));
    }

    @Test
    void theSetIsItsNodesInAnyOrderAndTheLargestTtl() {
        List<QuorumMember> members = List.of(
                QuorumMember.of(nodes.get(0), "c"),
                new QuorumMember(nodes.get(1), "a", Membership.Persistence.DURABLE, Guarantee.Exclusion.WITHIN_DRIFT));
        NodeSet two = new NodeSet(members, QuorumSettings.standard().maxTtl(Duration.ofMillis(1_500)), clock);
        assertThat(two.configuration()).isEqualTo("2 nodes [a (durable), c], maxTtl 1500 ms");
        assertThat(two.quorum()).isEqualTo(2);
        assertThat(set.quorum()).isEqualTo(2);
        assertThat(two.names()).containsExactly("c", "a");
    }

    @Test
    void nothingIsProposedToANodeThatIsNotBelievedButItsClockIsLookedAt() {
        nodes.get(0).answers("acquire", yes("same", 0));
        nodes.get(1).answers("acquire", yes("same", 0));
        propose(0, micros(), 0);
        assertThat(propose(1, micros(), 0))
                .as("its yes shows that it is the server that has voted already")
                .isInstanceOfSatisfying(NodeReply.Failed.class, failed -> {
                    assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN);
                    assertThat(failed.error()).hasMessageContaining("node-1 is the same server as node-0");
                });
        NodeReply refused = propose(1, micros(), 0);
        assertThat(refused).isInstanceOfSatisfying(NodeReply.Refused.class, told -> {
            assertThat(told.reason()).contains("is the same server as node-0");
            assertThat(told.retryNanos()).isEqualTo(10 * MILLI);
        });
        assertThat(nodes.get(1).ballots).hasSize(1);
        assertThat(nodes.get(1).verbs).containsExactly("acquire", "probe");
        assertThat(propose(1, micros(), 0))
                .as("the probe has shown another life")
                .isInstanceOf(NodeReply.Failed.class);
    }

    @Test
    void aNodeWhoseClockJumpedIsToldForHowLongItIsLeftOut() {
        nodes.get(0).answers("acquire", yes("a", 0));
        propose(0, micros(), 0);
        nodes.get(0).instead.put("acquire", () -> yes("a", 3_000_000));
        clock.pass(Duration.ofMillis(10));
        assertThat(propose(0, micros(), 0))
                .isInstanceOfSatisfying(
                        NodeReply.Failed.class,
                        failed -> assertThat(failed.error()).hasMessageContaining("node-0 its clock jumped"));
        nodes.get(0).answers("probe", ScriptedSet.failed(FailureKind.UNKNOWN));
        clock.pass(Duration.ofSeconds(1));
        assertThat(propose(0, micros(), 0))
                .isInstanceOfSatisfying(
                        NodeReply.Refused.class,
                        told -> assertThat(told.retryNanos()).isEqualTo(30_300 * MILLI - SECOND));
    }

    /** An undo could not stop a ballot that is further ahead than half of the bound. */
    @Test
    void nothingIsProposedTooFarAheadOfANodesClock() {
        nodes.get(0).instead.put("acquire", () -> yes("a", 0));
        assertThat(propose(0, micros() + BOUND, 0)).as("its clock is not known").isInstanceOf(NodeReply.Yes.class);
        long most = micros() + BOUND / 2;
        assertThat(propose(0, most, 0)).isInstanceOf(NodeReply.Yes.class);
        assertThat(propose(0, most + 1, 0)).isInstanceOfSatisfying(NodeReply.Refused.class, told -> {
            assertThat(told.reason()).isEqualTo("fencing token " + (most + 1) + " is too far ahead of its clock");
            assertThat(told.retryNanos()).isEqualTo(10 * MILLI);
        });
        assertThat(nodes.get(0).verbs).containsExactly("acquire", "acquire", "probe");
        assertThat(clock.answer(set.propose(0, LockNode::acquire, ballot(most, 2), micros(), 0)))
                .as("with what is reserved")
                .isInstanceOf(NodeReply.Refused.class);
        assertThat(propose(0, most + 1, micros() + 1))
                .as("above a floor it told")
                .isInstanceOf(NodeReply.Yes.class);
        assertThat(propose(0, most + 2, micros() + 1)).isInstanceOf(NodeReply.Refused.class);
    }

    @Test
    void aRenewalThatFailsAtTheNodeFailsForEachItem() {
        nodes.get(0).answers("renew", new IllegalStateException("made by the test"));
        RenewReply reply = clock.answer(set.renew(0, new RenewBatch(items(clock), SECOND)));
        assertThat(reply.items())
                .hasSize(2)
                .allSatisfy(item -> assertThat(item)
                        .isInstanceOfSatisfying(
                                RenewReply.Failed.class,
                                failed -> assertThat(failed.error())
                                        .isInstanceOf(StoreUnavailableException.class)
                                        .hasMessageContaining("a request to node-0 failed: ")
                                        .hasMessageContaining("made by the test")));
        nodes.get(0).answersItself("renew");
        assertThat(clock.answer(set.renew(0, new RenewBatch(items(clock), SECOND)))
                        .items())
                .hasExactlyElementsOfTypes(RenewReply.NotOurs.class, RenewReply.NotOurs.class);
        assertThat(nodes.get(0).verbs).as("its clock is looked at first").startsWith("probe", "renew");
    }

    @Test
    void ofANodeThatIsNotBelievedOnlyALossCounts() {
        nodes.get(0).instead.put("probe", () -> new NodeReply.Stale(0, new Incarnation("same"), micros()));
        nodes.get(1).instead.put("probe", () -> new NodeReply.Stale(0, new Incarnation("same"), micros()));
        clock.answer(set.probe(0, SECOND));
        nodes.get(1).answers("renew", new RenewReply(List.of(new RenewReply.Renewed(1), new RenewReply.NotOurs())));
        RenewReply reply = clock.answer(set.renew(1, new RenewBatch(items(clock), SECOND)));
        assertThat(reply.items().get(0))
                .isInstanceOfSatisfying(
                        RenewReply.Failed.class,
                        failed ->
                                assertThat(failed.error()).hasMessageContaining("node-1 is the same server as node-0"));
        assertThat(reply.items().get(1)).isInstanceOf(RenewReply.NotOurs.class);
    }

    @Test
    void clocksAreReadUntilAQuorumHasAnsweredOrAllHaveOrTheTimeIsOver() {
        nodes.get(2).delayNanos.put("probe", 50 * MILLI);
        assertThat(set.estimateMicros()).isEmpty();
        CompletableFuture<List<NodeReply>> two = set.sample(SECOND);
        assertThat(two).isCompletedWithValueMatching(replies -> replies.size() == 2);
        assertThat(clock.armed())
                .as("no patience is left behind, the late answer is")
                .isEqualTo(1);
        assertThat(set.estimateMicros()).hasValue(micros());

        nodes.get(0).answers("probe", ScriptedSet.failed(FailureKind.UNKNOWN));
        nodes.get(1).answers("probe", ScriptedSet.failed(FailureKind.UNKNOWN));
        CompletableFuture<List<NodeReply>> failures = set.sample(SECOND);
        assertThat(failures).as("failures are no quorum").isNotDone();
        clock.pass(Duration.ofMillis(50));
        assertThat(failures).isCompletedWithValueMatching(replies -> replies.size() == 3);

        nodes.get(2).answers("probe", ScriptedNode.SILENCE);
        CompletableFuture<List<NodeReply>> silent = set.sample(30 * MILLI);
        clock.pass(Duration.ofMillis(29));
        assertThat(silent).isNotDone();
        clock.pass(Duration.ofMillis(1));
        assertThat(silent).isCompletedWithValueMatching(replies -> replies.size() == 2);
    }

    /** If all but a minority are silent, this client itself may have paused, so its rounds wait for each node. */
    @Test
    void aMinorityThatOwesAnAnswerIsSilentUntilItIsHeard() {
        clock.answer(set.sample(SECOND));
        assertThat(set.silent(50 * MILLI).isEmpty()).isTrue();
        nodes.get(2).answers("probe", ScriptedNode.SILENCE);
        set.sample(SECOND);
        clock.pass(Duration.ofMillis(50));
        assertThat(set.silent(50 * MILLI).isEmpty()).as("in its time").isTrue();
        clock.pass(Duration.ofMillis(1));
        assertThat(set.silent(50 * MILLI).stream()).containsExactly(2);
        nodes.get(1).answers("probe", ScriptedNode.SILENCE);
        set.sample(SECOND);
        clock.pass(Duration.ofMillis(51));
        assertThat(set.silent(50 * MILLI).isEmpty()).as("no quorum is left").isTrue();
        nodes.get(2).answers("probe", ScriptedSet.failed(FailureKind.UNKNOWN));
        clock.answer(set.probe(2, SECOND));
        nodes.get(1).answersItself("probe");
        clock.answer(set.probe(1, SECOND));
        assertThat(set.silent(50 * MILLI).stream())
                .as("what a node answers counts, not what another node reports in its place")
                .containsExactly(2);
        nodes.get(2).answers("probe", ScriptedSet.failed(FailureKind.NO_EFFECT));
        clock.answer(set.probe(2, SECOND));
        assertThat(set.silent(50 * MILLI).isEmpty())
                .as("a node that was sent nothing owes nothing")
                .isTrue();
    }

    /** Late answers that were created at the time of the request. */
    @Test
    void aClockIsThatOfTheSending() {
        nodes.forEach(node -> node.delayNanos.put("probe", 20 * MILLI));
        clock.answer(set.sample(SECOND));
        assertThat(set.estimateMicros()).hasValue(micros());
    }

    @Test
    void whatNodesCountForIsTold() {
        List<NodeChanged> told = new ArrayList<>();
        set.statuses().listen(told::add);
        propose(0, micros(), 0);
        assertThat(told).singleElement().satisfies(news -> {
            assertThat(news.now()).isEqualTo(NodeStanding.QUARANTINED);
            assertThat(news.detail()).contains("for 31300 ms more");
        });
        told.clear();
        nodes.get(1).answers("probe", ScriptedSet.failed(FailureKind.UNKNOWN));
        clock.answer(set.probe(1, SECOND));
        assertThat(told)
                .extracting(NodeChanged::node, NodeChanged::now)
                .containsExactly(org.assertj.core.groups.Tuple.tuple("node-1", NodeStanding.UNREACHABLE));
        told.clear();
        nodes.forEach(
                node -> node.instead.put("probe", () -> new NodeReply.Stale(0, new Incarnation("same"), micros())));
        clock.answer(set.probe(1, SECOND));
        told.clear();
        clock.answer(set.probe(2, SECOND));
        assertThat(told)
                .as("two names of one server")
                .extracting(NodeChanged::node, NodeChanged::now)
                .containsExactly(org.assertj.core.groups.Tuple.tuple("node-2", NodeStanding.EXCLUDED));
    }

    @Test
    void anErrorOfTheStoreIsPassedOnAsItIs() {
        UnsafeStoreException known = new UnsafeStoreException("known", null);
        NodeLink link = new NodeLink(nodes.get(0), "node-0");
        assertThat(link.ask(node -> CompletableFuture.<String>failedFuture(known), (kind, error) -> {
                            assertThat(error).isSameAs(known);
                            return kind.name();
                        })
                        .join())
                .isEqualTo("UNKNOWN");
        assertThat(link.ask(
                                node -> CompletableFuture.<String>failedFuture(
                                        new java.util.concurrent.CompletionException(known)),
                                (kind, error) -> error.getMessage())
                        .join())
                .isEqualTo("known");
        for (int i = 0; i < 3 * NodeLink.MAX_UNANSWERED; i++) {
            link.ask(node -> CompletableFuture.failedFuture(known), (kind, error) -> kind.name());
            link.ask(
                    node -> {
                        throw new IllegalStateException("made by the test");
                    },
                    (kind, error) -> kind.name());
        }
        assertThat(link.ask(node -> CompletableFuture.completedFuture("heard"), (kind, error) -> kind.name())
                        .join())
                .as("what was never sent is not unanswered")
                .isEqualTo("heard");
    }
}
