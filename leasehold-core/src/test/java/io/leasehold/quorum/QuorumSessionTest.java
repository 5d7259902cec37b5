// Long because each step of one owner token has its rule, and all share one scripted set.
package io.leasehold.quorum;

import static io.leasehold.quorum.ScriptedSet.MILLI;
import static io.leasehold.quorum.ScriptedSet.NAME;
import static io.leasehold.quorum.ScriptedSet.NAMES;
import static io.leasehold.quorum.ScriptedSet.SECOND;
import static io.leasehold.quorum.ScriptedSet.TTL;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.NodeVote;
import io.leasehold.UnsafeStoreException;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests of the requests of one owner token to a set of nodes, step by step: the requests to each node, their times, and
 * the answers.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class QuorumSessionTest {

    private final ScriptedSet set = new ScriptedSet(3);

    private NodeReply held(int node, boolean queued) {
        return new NodeReply.Held(null, queued, new Incarnation("life-" + node), set.clock.wallMillis() * 1_000);
    }

    private void all(Consumer<ScriptedNode> each) {
        set.nodes.forEach(each);
    }

    private void fenceAt(long micros, int... at) {
        for (int node : at) {
            set.nodes
                    .get(node)
                    .memory
                    .release(new ReleaseRequest(NAMES, set.owner(), micros, ReleaseRequest.Kind.UNDO, SECOND));
        }
    }

    private long nowMicros() {
        return set.clock.wallMillis() * 1_000;
    }

    private AcquireRequest waiting() {
        return set.request(set.owner()).waiting(3 * SECOND);
    }

    private static List<Long> pausesMillis(ScriptedNode node) {
        List<Long> pauses = new ArrayList<>();
        for (int i = 1; i < node.ballotsAtNanos.size(); i++) {
            pauses.add((node.ballotsAtNanos.get(i) - node.ballotsAtNanos.get(i - 1)) / MILLI);
        }
        return pauses;
    }

    // ---- the start of a grant's validity

    @Test
    void aGrantCountsFromTheSendingOfTheBallotThatWasAnswered() {
        all(node -> node.delayNanos.put("acquire", 30 * MILLI));
        long sentAtNanos = set.clock.nanoTime();
        all(node -> node.verbs.clear());
        Grant grant = set.granted();
        assertThat(set.nodes.get(0).verbs).as("the clock of the set is known").containsExactly("acquire");
        assertThat(set.clock.nanoTime()).as("the answers were late").isGreaterThanOrEqualTo(sentAtNanos + 30 * MILLI);
        assertThat(grant.sentAtNanos()).isEqualTo(sentAtNanos);
        set.released(grant);
        set.pass(100);

        fenceAt(nowMicros() + 1_000_000, 0, 1, 2);
        long firstAtNanos = set.clock.nanoTime();
        Grant second = set.granted();
        assertThat(second.sentAtNanos())
                .as("the second ballot, sent when the first was answered as stale")
                .isEqualTo(firstAtNanos + 30 * MILLI);
        assertThat(second.tokens().first()).isGreaterThan(nowMicros() + 900_000);
        assertThat(set.clock.armed()).as("no time limit is left behind").isZero();
    }

    // ---- the wait for a node

    private long answeredAfter(AcquireRequest request) {
        long before = set.clock.nanoTime();
        CompletableFuture<AcquireReply> asked = set.store.acquire(request);
        set.clock.answer(asked);
        return set.clock.nanoTime() - before;
    }

    @Test
    void whoDoesNotWaitGivesTheNodesTheTimeOfItsRequest() {
        set.nodes.get(1).answers("acquire", ScriptedNode.SILENCE);
        set.nodes.get(2).answers("acquire", ScriptedNode.SILENCE);
        assertThat(answeredAfter(set.request(set.owner()))).isEqualTo(SECOND);
        assertThat(answeredAfter(set.request(set.owner()).nodeTimeout(120 * MILLI)))
                .as("a time of its own")
                .isEqualTo(120 * MILLI);
        assertThat(answeredAfter(set.request(set.owner()).nodeTimeout(2 * SECOND)))
                .as("at most that of the request")
                .isEqualTo(SECOND);
    }

    /** The time limit of a request is that of its answer and includes the time for clocks and earlier ballots. */
    @Test
    void theClocksAndEarlierBallotsArePartOfTheTimeOfARequest() {
        all(node -> node.delayNanos.put("probe", 600 * MILLI));
        set.nodes.get(1).answers("acquire", ScriptedNode.SILENCE);
        set.nodes.get(2).answers("acquire", ScriptedNode.SILENCE);
        QuorumStore fresh = new QuorumStore(set.members, QuorumSettings.standard(), set.clock);
        long before = set.clock.nanoTime();
        set.clock.answer(fresh.acquire(set.request(set.owner())));
        assertThat(set.clock.nanoTime() - before).as("with the clocks").isEqualTo(SECOND);

        set.pass(100);
        all(node -> {
            node.answersItself("acquire");
            node.delayNanos.put("acquire", 600 * MILLI);
        });
        fenceAt(nowMicros() + 2_000_000, 0, 1, 2);
        assertThat(answeredAfter(set.request(set.owner())))
                .as("with a second ballot")
                .isEqualTo(SECOND);
    }

    @Test
    void whoWaitsGivesThemTheNodeTimeout() {
        set.nodes.get(1).answers("acquire", ScriptedNode.SILENCE);
        set.nodes.get(2).answers("acquire", ScriptedNode.SILENCE);
        assertThat(answeredAfter(waiting())).isEqualTo(50 * MILLI);
        assertThat(answeredAfter(waiting().nodeTimeout(70 * MILLI))).isEqualTo(70 * MILLI);
    }

    private static ScriptedSet twoOfFiveFrozen() {
        ScriptedSet five = new ScriptedSet(5);
        five.rival(0);
        // The next ballot is above that of the rival.
        five.pass(2);
        five.nodes.get(3).answers("acquire", ScriptedNode.SILENCE);
        five.nodes.get(4).answers("acquire", ScriptedNode.SILENCE);
        return five;
    }

    private static long answeredAfter(ScriptedSet five, AcquireRequest request) {
        long before = five.clock.nanoTime();
        assertThat(five.ask(request)).isNotInstanceOf(AcquireReply.Granted.class);
        return five.clock.nanoTime() - before;
    }

    @Test
    void underContentionAWaiterGivesFrozenNodesLittleTimeAndThenNone() {
        ScriptedSet five = twoOfFiveFrozen();
        AcquireRequest waiting = five.request(five.owner()).waiting(3 * SECOND);
        for (long millis : new long[] {5, 5, 10, 10, 20}) {
            assertThat(answeredAfter(five, waiting)).as("they may be needed").isEqualTo(millis * MILLI);
        }
        five.pass(1);
        assertThat(answeredAfter(five, waiting)).isZero();
        assertThat(answeredAfter(five, waiting.nodeTimeout(120 * MILLI)))
                .as("silent only after the node timeout of the lock")
                .isEqualTo(20 * MILLI);
        assertThat(answeredAfter(five, five.request(five.owner())))
                .as("without patience")
                .isEqualTo(SECOND);
    }

    @Test
    void theTimeOfARequestWithoutPatienceIsNotCutShort() {
        ScriptedSet five = twoOfFiveFrozen();
        assertThat(answeredAfter(five, five.request(five.owner()))).isEqualTo(SECOND);
    }

    @Test
    void contentionDoesNotProlongTheNodeTimeout() {
        ScriptedSet five = twoOfFiveFrozen();
        five.nodes.subList(0, 3).forEach(node -> node.delayNanos.put("acquire", 20 * MILLI));
        assertThat(answeredAfter(five, five.request(five.owner()).waiting(3 * SECOND)))
                .isEqualTo(50 * MILLI);
    }

    @Test
    void nothingIsArmedAfterAnAnswer() {
        Grant grant = set.granted();
        assertThat(set.clock.armed()).isZero();
        set.released(grant);
        assertThat(set.clock.armed()).isZero();
    }

    /** The client does not know the clock of the set before its first ballot. */
    @Test
    void theFirstRequestReadsTheClocksAndSaysWhyItCannot() {
        List<QuorumMember> members = set.members;
        QuorumStore fresh = new QuorumStore(members, QuorumSettings.standard(), set.clock);
        all(node -> node.verbs.clear());
        assertThat(set.clock.answer(fresh.acquire(set.request(set.owner())))).isInstanceOf(AcquireReply.Granted.class);
        assertThat(set.nodes.get(0).verbs).startsWith("probe", "acquire");

        set.nodes.get(1).answers("probe", ScriptedSet.failed(FailureKind.UNKNOWN));
        set.nodes.get(2).answers("probe", ScriptedSet.failed(FailureKind.PERMANENT));
        AcquireReply.Failed failed = firstFailure();
        assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT);
        assertThat(failed.error())
                .hasMessageContaining("no quorum for [n]: 2 of 3 nodes are needed; a node")
                .hasMessageContaining("no way (made by the test)")
                .hasMessageNotContaining("this client is configured for");
        assertThat(failed.error().votes())
                .extracting(NodeVote::answer)
                .containsExactly(NodeVote.Answer.FAILED, NodeVote.Answer.FAILED);

        set.nodes.get(1).answers("probe", ScriptedSet.failed(FailureKind.PERMANENT));
        AcquireReply.Failed permanent = firstFailure();
        assertThat(permanent.kind()).isEqualTo(FailureKind.PERMANENT);
        assertThat(permanent.error())
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("this client is configured for 3 nodes");
    }

    private AcquireReply.Failed firstFailure() {
        QuorumStore fresh = new QuorumStore(set.members, QuorumSettings.standard(), set.clock);
        AcquireReply reply = set.clock.answer(fresh.acquire(set.request(set.owner())));
        assertThat(fresh.remembered()).isZero();
        return (AcquireReply.Failed) reply;
    }

    @Test
    void aRequestThatIsGivenUpWhileTheClocksAreReadIsAnsweredAtOnce() {
        all(node -> node.delayNanos.put("probe", 30 * MILLI));
        QuorumStore fresh = new QuorumStore(set.members, QuorumSettings.standard(), set.clock);
        OwnerToken owner = set.owner();
        CompletableFuture<AcquireReply> asked = fresh.acquire(set.request(owner));
        fresh.release(new ReleaseRequest(NAMES, owner, 0, ReleaseRequest.Kind.UNDO, SECOND));
        assertThat(asked)
                .isCompletedWithValueMatching(
                        reply -> reply instanceof AcquireReply.Failed failed && failed.kind() == FailureKind.NO_EFFECT);
        set.pass(100);
        all(node -> assertThat(node.ballots).isEmpty());
    }

    // ---- which ballots

    @Test
    void aBallotIsAboveEverythingKnown() {
        long clock = nowMicros();
        assertThat(set.granted(set.request(set.owner()).seenToken(clock + 1_000_000))
                        .tokens()
                        .first())
                .isEqualTo(clock + 1_000_001);
        OwnerToken owner = set.owner();
        AcquireReply busy = set.ask(set.request(owner).waiting(SECOND).ballotSoFar(clock + 2_000_000));
        assertThat(busy.ballot()).isEqualTo(clock + 2_000_001);
        AcquireReply again = set.ask(set.request(owner).waiting(SECOND));
        assertThat(again.ballot()).as("the round's own highest").isEqualTo(clock + 2_000_002);
        assertThat(set.nodes.get(0).memberships.get(0).estimateMicros())
                .as("nodes receive the clock of the set, not the ballot")
                .isEqualTo(clock);
    }

    /** As after a step back of all clocks by a minute. */
    @Test
    void aWaiterWhoseBallotsAreFarAheadOfAllClocksContinuesWithAnotherOwnerToken() {
        OwnerToken former = set.owner();
        AcquireReply reply = set.ask(set.request(former).waiting(SECOND).ballotSoFar(nowMicros() + 60_000_000));
        assertThat(reply)
                .isInstanceOfSatisfying(
                        AcquireReply.Refused.class,
                        refused -> assertThat(refused.spent()).isTrue());
        all(node -> assertThat(node.ballots).isEmpty());
        assertThat(set.granted(set.request(set.owner()).waiting(SECOND))
                        .tokens()
                        .first())
                .isLessThanOrEqualTo(nowMicros());
    }

    @Test
    void aBallotThatWouldReachTheLimitIsNeverSent() {
        long limit = 1L << 53;
        AcquireReply reply = set.ask(set.request(set.owner()).seenToken(limit - 2));
        assertThat(reply)
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT));
        all(node -> assertThat(node.ballots).isEmpty());
        assertThat(set.store.remembered()).isZero();
        AcquireReply more =
                set.ask(set.request(set.owner()).seenToken(limit - 10).reserve(9));
        assertThat(more).isInstanceOf(AcquireReply.Failed.class);
        assertThat(set.ask(set.request(set.owner()).seenToken(limit - 11).reserve(9)))
                .as("the last that can be reserved is sent, and is too far ahead of the clock")
                .isInstanceOf(AcquireReply.Refused.class);
    }

    /** The node reported the floor itself, so it does not clamp an end above it. */
    @Test
    void aNodeWhoseFenceIsFarAheadIsProposedABallotAboveIt() {
        long ahead = nowMicros() + 5_000_000;
        fenceAt(ahead, 0, 1, 2);
        assertThat(set.granted().tokens().first()).isEqualTo(ahead + 1);
    }

    @Test
    void aTtlThatTheSetCannotKeepIsRefusedAndTheRestGoesOn() {
        OwnerToken owner = set.owner();
        set.rival(0, 1, 2);
        assertThat(set.ask(set.request(owner).waiting(SECOND))).isInstanceOf(AcquireReply.Queued.class);
        AcquireReply reply = set.ask(AcquireRequest.exclusive(NAMES, owner, "host/1/x", 31 * SECOND, SECOND)
                .waiting(SECOND));
        assertThat(reply)
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.error()).hasMessageContaining("[n]: ttl 31s is above maxTtl"));
        assertThat(set.store.remembered()).as("its place stands at the nodes").isEqualTo(1);
        set.releasing(owner, 0, ReleaseRequest.Kind.UNDO);
        assertThat(set.store.remembered()).isZero();
        set.ask(AcquireRequest.exclusive(NAMES, set.owner(), "host/1/x", 31 * SECOND, SECOND));
        assertThat(set.store.remembered()).as("of what was never sent").isZero();
    }

    // ---- what is lost

    @Test
    void anUndoIsRememberedUntilEachNodeHasAnswered() {
        set.rival(0, 1);
        all(node -> node.delayNanos.put("release", 30 * MILLI));
        assertThat(set.ask(set.request(set.owner()))).isInstanceOf(AcquireReply.Busy.class);
        assertThat(set.store.remembered()).isEqualTo(1);
        set.pass(30);
        assertThat(set.store.remembered()).isZero();

        OwnerToken waiter = set.owner();
        set.ask(set.request(waiter).waiting(3 * SECOND));
        set.pass(30);
        assertThat(set.store.remembered())
                .as("it continues under another owner token")
                .isEqualTo(1);
        set.releasing(waiter, 0, ReleaseRequest.Kind.UNDO);
        set.pass(30);
        assertThat(set.store.remembered()).isZero();
    }

    @Test
    void aNodeThatMayHaveForgottenIsWaitedForAsLongAsItsQuarantineLasts() {
        all(node ->
                node.instead.put("acquire", () -> new NodeReply.Unborn("nonce", new Incarnation("life"), nowMicros())));
        assertThat(set.ask(set.request(set.owner())))
                .isInstanceOfSatisfying(
                        AcquireReply.Refused.class,
                        refused -> assertThat(refused.reason())
                                .contains("not for another 31301 ms")
                                .contains("grants nothing for 31300 ms more"));
    }

    @Test
    void aLostRoundIsUndoneEverywhereWithItsHighestBallot() {
        set.rival(0, 1);
        AcquireReply reply = set.ask(set.request(set.owner()));
        assertThat(reply)
                .isInstanceOfSatisfying(
                        AcquireReply.Busy.class,
                        busy -> assertThat(busy.holder().id()).isEqualTo("host/2/rival"));
        for (ScriptedNode node : set.nodes) {
            assertThat(node.ends).singleElement().satisfies(end -> {
                assertThat(end.kind()).isEqualTo(ReleaseRequest.Kind.UNDO);
                assertThat(end.ballot()).isEqualTo(reply.ballot());
            });
        }
        assertThat(set.keeps(2)).isFalse();
        assertThat(set.store.remembered()).isZero();
    }

    @Test
    void aWaiterGoesOnUnderAnotherOwnerTokenAfterAnUndo() {
        OwnerToken rival = set.rival(0, 1);
        OwnerToken owner = set.owner();
        AcquireReply first = set.ask(set.request(owner).waiting(3 * SECOND));
        assertThat(first).isInstanceOf(AcquireReply.Queued.class);
        all(node ->
                assertThat(node.ends).extracting(ReleaseRequest::kind).containsExactly(ReleaseRequest.Kind.SUPERSEDED));
        assertThat(set.store.remembered()).isEqualTo(1);
        for (int node = 0; node < 2; node++) {
            set.nodes
                    .get(node)
                    .memory
                    .release(new ReleaseRequest(NAMES, rival, 0, ReleaseRequest.Kind.RELEASE, SECOND));
        }
        Grant grant = set.granted(set.request(owner).waiting(3 * SECOND));
        assertThat(grant.owner()).isNotEqualTo(owner);
        assertThat(grant.tokens().first()).isGreaterThan(first.ballot() - 1);
        assertThat(set.renewed(grant)).isInstanceOf(io.leasehold.spi.RenewReply.Renewed.class);
        assertThat(set.nodes.get(0).renewals.get(0).items().get(0).owner()).isEqualTo(grant.owner());
        assertThat(set.released(grant)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(set.keeps(0) || set.keeps(1) || set.keeps(2)).isFalse();
        assertThat(set.store.remembered()).as("under neither owner token").isZero();
    }

    /** A vote that arrives after its round was given up only raises the known floor. */
    @Test
    void aVoteOfARoundThatIsOverChangesNothingInTheNext() {
        set.rival(0, 1);
        set.nodes.get(2).delayNanos.put("acquire", 60 * MILLI);
        OwnerToken owner = set.owner();
        assertThat(set.ask(set.request(owner).waiting(3 * SECOND))).isInstanceOf(AcquireReply.Queued.class);
        set.pass(100);
        assertThat(set.nodes.get(2).ends).as("the late yes is undone").hasSize(1);
        assertThat(set.keeps(2)).isFalse();
    }

    @Test
    void whoIsRefusedIsToldForHowLong() {
        all(node -> node.instead.put(
                "acquire", () -> new NodeReply.Refused("not now", 70 * MILLI, new Incarnation("life"), nowMicros())));
        AcquireReply reply = set.ask(set.request(set.owner()));
        assertThat(reply).isInstanceOfSatisfying(AcquireReply.Refused.class, refused -> {
            assertThat(refused.reason())
                    .startsWith("no quorum of 2 of 3 nodes may grant now: ")
                    .contains("not now");
            assertThat(refused.retryNanos()).isEqualTo(70 * MILLI);
            assertThat(refused.spent()).isFalse();
            assertThat(refused.ballot())
                    .isEqualTo(set.nodes.get(0).ballots.get(0).candidate());
            assertThat(refused.votes()).hasSize(3);
        });
        assertThat(set.store.remembered()).isZero();
    }

    @Test
    void whereTooManyNodesFailNothingIsKept() {
        set.nodes.get(0).answers("acquire", ScriptedSet.failed(FailureKind.NO_EFFECT));
        set.nodes.get(1).answers("acquire", ScriptedSet.failed(FailureKind.NO_EFFECT));
        AcquireReply reply = set.ask(set.request(set.owner()));
        assertThat(reply).isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT);
            assertThat(failed.ballot())
                    .isEqualTo(set.nodes.get(0).ballots.get(0).candidate());
            assertThat(failed.error()).hasMessageContaining("no way (made by the test)");
        });
        assertThat(set.keeps(2)).isFalse();
        assertThat(set.store.remembered()).isZero();
    }

    // ---- places in the queues of the nodes

    @Test
    void aWaiterThatNoNodeWillWakeAsksForAPlaceSixTimes() {
        all(node -> node.instead.put("acquire", () -> held(set.nodes.indexOf(node), false)));
        AcquireRequest request = waiting();
        for (int time = 0; time < 2; time++) {
            all(node -> node.ballotsAtNanos.clear());
            assertThat(set.ask(request)).isInstanceOf(AcquireReply.Busy.class);
            assertThat(pausesMillis(set.nodes.get(0)))
                    .as("at each request")
                    .containsExactly(5L, 10L, 20L, 40L, 80L, 160L);
        }
        assertThat(set.clock.armed()).isZero();
        all(node -> node.ballotsAtNanos.clear());
        AcquireReply impatient = set.ask(AcquireRequest.exclusive(NAMES, set.owner(), "host/1/x", TTL, 70 * MILLI)
                .waiting(SECOND));
        assertThat(impatient).isInstanceOf(AcquireReply.Busy.class);
        assertThat(pausesMillis(set.nodes.get(0))).as("within half of its time").containsExactly(5L, 10L);
        assertThat(set.clock.armed()).isZero();
        all(node -> node.ballotsAtNanos.clear());
        set.ask(AcquireRequest.exclusive(NAMES, set.owner(), "host/1/x", TTL, 5 * SECOND)
                .waiting(SECOND));
        assertThat(pausesMillis(set.nodes.get(0))).as("however patient it is").hasSize(6);
    }

    @Test
    void aWaiterThatOneNodeMoreThanAMinorityWillWakeIsQueued() {
        all(node -> node.instead.put("acquire", () -> held(set.nodes.indexOf(node), set.nodes.indexOf(node) < 1)));
        CompletableFuture<AcquireReply> asked = set.store.acquire(waiting());
        assertThat(asked).as("one of three may be the one that fails").isNotDone();
        all(node -> node.instead.put("acquire", () -> held(set.nodes.indexOf(node), set.nodes.indexOf(node) < 2)));
        set.pass(5);
        assertThat(asked).isCompletedWithValueMatching(AcquireReply.Queued.class::isInstance);
        assertThat(set.nodes.get(0).ballots).hasSize(2);
        all(node -> node.ballots.clear());
        assertThat(set.ask(waiting())).isInstanceOf(AcquireReply.Queued.class);
        assertThat(set.nodes.get(0).ballots).as("at once").hasSize(1);
    }

    @Test
    void whoDoesNotWaitAsksForNoPlace() {
        all(node -> node.instead.put("acquire", () -> held(set.nodes.indexOf(node), false)));
        assertThat(set.ask(set.request(set.owner()))).isInstanceOf(AcquireReply.Busy.class);
        assertThat(set.nodes.get(0).ballots).hasSize(1);
    }

    /**
     * Of five nodes, one fails and another client holds two. No client has a quorum, and no node would wake this
     * client.
     */
    @Test
    void afterSplitVotesAWaiterWakesItselfLaterEachTime() {
        ScriptedSet five = new ScriptedSet(5);
        five.rival(0, 1);
        five.nodes.get(4).answers("acquire", ScriptedSet.failed(FailureKind.NO_EFFECT));
        OwnerToken owner = five.owner();
        for (long pause : new long[] {10, 20, 40}) {
            AcquireReply reply = five.ask(five.request(owner).waiting(3 * SECOND));
            assertThat(reply).isInstanceOf(AcquireReply.Queued.class);
            long before = five.clock.nanoTime();
            five.woken.clear();
            five.wokenAtNanos.clear();
            five.pass(1_000);
            assertThat(five.woken).containsExactly(NAME);
            assertThat(five.wokenAtNanos.get(0) - before).isEqualTo(pause * MILLI);
        }
        five.nodes.get(4).answersItself("acquire");
        five.granted(five.request(owner).waiting(3 * SECOND));
        OwnerToken late = five.owner();
        five.nodes.get(4).answers("acquire", ScriptedSet.failed(FailureKind.NO_EFFECT));
        assertThat(five.ask(five.request(late))).isInstanceOf(AcquireReply.Busy.class);
        five.woken.clear();
        five.pass(5_000);
        assertThat(five.woken).as("who does not wait is not woken").isEmpty();
    }

    @Test
    void afterSplitVotesOfALongRoundAWaiterWaitsThatLong() {
        ScriptedSet five = new ScriptedSet(5);
        five.rival(0, 1);
        five.nodes.get(4).answers("acquire", ScriptedSet.failed(FailureKind.NO_EFFECT));
        five.nodes.forEach(node -> node.delayNanos.put("acquire", 25 * MILLI));
        five.ask(five.request(five.owner()).waiting(3 * SECOND));
        long before = five.clock.nanoTime();
        five.pass(500);
        assertThat(five.wokenAtNanos.get(0) - before)
                .as("as long as its two ballots took")
                .isEqualTo(50 * MILLI);
    }

    /** The client's thread is gone. Its recorded delays are removed too, even if the attempt was never ended. */
    @Test
    void theDelaysOfADesertedAttemptAreForgottenWhenItIsSwept() {
        ScriptedSet five = new ScriptedSet(5);
        five.rival(0, 1);
        five.nodes.get(4).answers("acquire", ScriptedSet.failed(FailureKind.NO_EFFECT));
        AcquireRequest request = five.request(five.owner()).waiting(3 * SECOND);
        for (int i = 0; i < 3; i++) {
            assertThat(five.ask(request)).isInstanceOf(AcquireReply.Queued.class);
            five.pass(1_000);
        }
        five.nodes.get(4).answersItself("acquire");
        for (int i = 0; i < 1_024; i++) {
            five.granted(AcquireRequest.exclusive(
                    List.of(LockName.exactly("other-" + i)), five.owner(), "host/1/x", TTL, SECOND));
        }
        five.pass(61_000);
        five.granted(
                AcquireRequest.exclusive(List.of(LockName.exactly("last")), five.owner(), "host/1/x", TTL, SECOND));
        assertThat(five.store.remembered()).as("it was swept").isEqualTo(1_025);

        five.rival(0, 1);
        five.nodes.get(4).answers("acquire", ScriptedSet.failed(FailureKind.NO_EFFECT));
        five.woken.clear();
        assertThat(five.ask(request)).isInstanceOf(AcquireReply.Queued.class);
        five.pass(10);
        assertThat(five.woken).as("the first delay").containsExactly(NAME);
    }

    // ---- forbidden steps and unexpected failures

    @Test
    void oneRequestAtATimeAndNoneAfterTheEnd() {
        all(node -> node.delayNanos.put("acquire", 10 * MILLI));
        OwnerToken owner = set.owner();
        CompletableFuture<AcquireReply> first = set.store.acquire(set.request(owner));
        AcquireReply second = set.ask(set.request(owner));
        assertThat(second).isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT);
            assertThat(failed.error()).hasMessageContaining("while another was under way");
        });
        assertThat(set.clock.answer(first)).isInstanceOf(AcquireReply.Granted.class);
        CompletableFuture<AcquireReply> third = set.store.acquire(set.request(set.owner()));
        set.pass(1);
        assertThat(third).isNotDone();

        QuorumSession session = session(ScriptedSet.nodes(set.nodes, set.clock));
        session.release(new ReleaseRequest(NAMES, owner, 0, ReleaseRequest.Kind.UNDO, SECOND));
        assertThat(session.acquire(set.request(owner), set.clock.nanoTime()))
                .isCompletedWithValueMatching(reply -> reply instanceof AcquireReply.Failed failed
                        && failed.kind() == FailureKind.NO_EFFECT
                        && failed.error().getMessage().contains("after its owner token was ended"));
    }

    @Test
    void anEndAnswersTheRequestThatIsUnderWayAndTheVotesThatComeLaterLeaveNothing() {
        all(node -> node.delayNanos.put("acquire", 10 * MILLI));
        OwnerToken owner = set.owner();
        CompletableFuture<AcquireReply> asked = set.store.acquire(set.request(owner));
        CompletableFuture<ReleaseReply> ended = set.releasing(owner, 0, ReleaseRequest.Kind.UNDO);
        assertThat(asked)
                .isCompletedWithValueMatching(reply -> reply instanceof AcquireReply.Failed failed
                        && failed.kind() == FailureKind.NO_EFFECT
                        && failed.error().getMessage().contains("was given up"));
        set.pass(100);
        assertThat(ended).isDone();
        assertThat(set.nodes.get(0).ends.get(0).ballot())
                .as("the end names the ballot that is under way")
                .isEqualTo(set.nodes.get(0).ballots.get(0).candidate());
        all(node -> assertThat(node.ends).hasSize(1));
        assertThat(set.store.remembered()).isZero();
        assertThat(set.clock.armed()).isZero();
    }

    @Test
    void anErrorIsAnAnswer() {
        set.clock.noTimers = true;
        AcquireReply reply = set.store.acquire(set.request(set.owner())).join();
        assertThat(reply).isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN);
            assertThat(failed.error())
                    .hasMessageContaining("acquiring [n] failed unexpectedly")
                    .hasCauseInstanceOf(InternalError.class);
        });
        OwnerToken owner = set.owner();
        ReleaseReply released =
                set.releasing(owner, 0, ReleaseRequest.Kind.UNDO).join();
        assertThat(released).isInstanceOfSatisfying(ReleaseReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN);
            assertThat(failed.error()).hasMessageContaining("the release of [n] failed unexpectedly");
        });
    }

    @Test
    void whatFailedUnexpectedlyIsDesertedInItsTime() {
        QuorumSession session = session(ScriptedSet.nodes(set.nodes, set.clock));
        set.clock.noTimers = true;
        assertThat(session.acquire(set.request(set.owner()), set.clock.nanoTime()))
                .isCompleted();
        set.clock.noTimers = false;
        assertThat(session.isAbandoned(set.clock.nanoTime() + 60 * SECOND + 1)).isTrue();
    }

    @Test
    void anErrorAtALaterStepIsAnAnswer() {
        all(node -> node.delayNanos.put("acquire", 10 * MILLI));
        fenceAt(nowMicros() + 1_000_000, 0, 1, 2);
        CompletableFuture<AcquireReply> asked = set.store.acquire(set.request(set.owner()));
        set.pass(5);
        set.clock.noTimers = true;
        set.pass(10);
        assertThat(asked)
                .isCompletedWithValueMatching(
                        reply -> reply instanceof AcquireReply.Failed failed && failed.kind() == FailureKind.UNKNOWN);
    }

    // ---- attempts that never end

    @Test
    void whatIsLeftAloneIsDesertedAfterAMinuteOrThreeRechecks() {
        NodeSet nodes = ScriptedSet.nodes(set.nodes, set.clock);
        QuorumSession session = session(nodes);
        assertThat(session.isAbandoned(set.clock.nanoTime() + 60 * SECOND)).isFalse();
        assertThat(session.isAbandoned(set.clock.nanoTime() + 60 * SECOND + 1)).isTrue();

        set.rival(0, 1, 2);
        set.clock.answer(session.acquire(
                AcquireRequest.exclusive(NAMES, set.owner(), "host/1/x", TTL, SECOND)
                        .waiting(25 * SECOND),
                set.clock.nanoTime()));
        assertThat(session.isAbandoned(set.clock.nanoTime() + 75 * SECOND)).isFalse();
        assertThat(session.isAbandoned(set.clock.nanoTime() + 75 * SECOND + 1)).isTrue();
    }

    @Test
    void aHoldIsDesertedAMinuteAfterTheEndOfItsTtl() {
        QuorumSession session = session(ScriptedSet.nodes(set.nodes, set.clock));
        // The set was declared by the store of the fixture; its configuration is the same.
        AcquireReply reply = set.clock.answer(session.acquire(set.request(set.owner()), set.clock.nanoTime()));
        assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
        long sentAtNanos = ((AcquireReply.Granted) reply).grant().sentAtNanos();
        assertThat(session.isAbandoned(sentAtNanos + TTL + 60 * SECOND)).isFalse();
        assertThat(session.isAbandoned(sentAtNanos + TTL + 60 * SECOND + 1)).isTrue();
        all(node -> node.delayNanos.put("acquire", 10 * MILLI));
        QuorumSession asking = session(ScriptedSet.nodes(set.nodes, set.clock));
        asking.acquire(set.request(set.owner()), set.clock.nanoTime());
        assertThat(asking.isAbandoned(set.clock.nanoTime() + Duration.ofHours(1).toNanos()))
                .as("a request is under way")
                .isFalse();
    }

    @Test
    void aPlaceEndsTheDelaysOfSplitVotes() {
        ScriptedSet five = new ScriptedSet(5);
        five.rival(0, 1);
        five.nodes.get(4).answers("acquire", ScriptedSet.failed(FailureKind.NO_EFFECT));
        ContentionBackoff backoff = new ContentionBackoff(five.clock, five.ear::wake);
        QuorumSession session = session(ScriptedSet.nodes(five.nodes, five.clock), backoff);
        AcquireRequest request = five.request(five.owner()).waiting(3 * SECOND);
        five.clock.answer(session.acquire(request, five.clock.nanoTime()));
        assertThat(backoff.remembered()).isEqualTo(1);
        five.pass(100);
        five.rival(2, 3);
        assertThat(five.clock.answer(session.acquire(request, five.clock.nanoTime())))
                .isInstanceOf(AcquireReply.Queued.class);
        assertThat(backoff.remembered()).isZero();
        backoff.close();
    }

    @Test
    void aRenewalKeepsAHoldFromBeingDesertedForAnotherTtl() {
        QuorumSession session = session(ScriptedSet.nodes(set.nodes, set.clock));
        set.clock.answer(session.acquire(set.request(set.owner()), set.clock.nanoTime()));
        set.pass(5_000);
        long renewedAtNanos = set.clock.nanoTime();
        for (long renewal = 1; renewal <= 2; renewal++) {
            boolean kept = renewal == 1;
            CompletableFuture<io.leasehold.spi.RenewReply.Item> reply = new CompletableFuture<>();
            session.renewing(renewal, reply);
            for (int node = 0; node < 2; node++) {
                session.renewed(
                        renewal,
                        node,
                        kept
                                ? new io.leasehold.spi.RenewReply.Renewed(renewedAtNanos)
                                : new io.leasehold.spi.RenewReply.NotOurs());
            }
            assertThat(reply).isDone();
            assertThat(session.isAbandoned(renewedAtNanos + TTL + 60 * SECOND)).isFalse();
            assertThat(session.isAbandoned(renewedAtNanos + TTL + 60 * SECOND + 1))
                    .isTrue();
            set.pass(1_000);
        }
    }

    /** The votes are split; then the attempt gets another answer or is ended. */
    @Test
    void theDelaysOfAnAttemptAreForgottenWithIt() {
        for (boolean ends : new boolean[] {true, false}) {
            ScriptedSet five = new ScriptedSet(5);
            OwnerToken rival = five.rival(0, 1);
            five.nodes.get(4).answers("acquire", ScriptedSet.failed(FailureKind.NO_EFFECT));
            NodeSet nodes = ScriptedSet.nodes(five.nodes, five.clock);
            ContentionBackoff backoff = new ContentionBackoff(five.clock, five.ear::wake);
            QuorumSession session = session(nodes, backoff);
            AcquireRequest request = five.request(five.owner()).waiting(3 * SECOND);
            assertThat(five.clock.answer(session.acquire(request, five.clock.nanoTime())))
                    .isInstanceOf(AcquireReply.Queued.class);
            assertThat(backoff.remembered()).isEqualTo(1);
            if (ends) {
                session.release(new ReleaseRequest(NAMES, five.owner(), 0, ReleaseRequest.Kind.UNDO, SECOND));
            } else {
                five.nodes
                        .get(0)
                        .memory
                        .release(new ReleaseRequest(NAMES, rival, 0, ReleaseRequest.Kind.RELEASE, SECOND));
                assertThat(five.clock.answer(session.acquire(request, five.clock.nanoTime())))
                        .isInstanceOf(AcquireReply.Granted.class);
            }
            assertThat(backoff.remembered()).isZero();
            backoff.close();
        }
    }

    private QuorumSession session(NodeSet nodes) {
        return session(nodes, new ContentionBackoff(set.clock, name -> {}));
    }

    private QuorumSession session(NodeSet nodes, ContentionBackoff backoff) {
        return new QuorumSession(shared(nodes, backoff), NAMES, set.owner(), set.owner());
    }

    static QuorumSession.Shared shared(NodeSet nodes, ContentionBackoff backoff) {
        return new QuorumSession.Shared(
                nodes,
                new NodeReleases(nodes),
                new NodeExports(nodes),
                backoff,
                new ConcurrentHashMap<>(),
                (owner, cause) -> {});
    }

    static Ballot last(ScriptedNode node) {
        return node.ballots.get(node.ballots.size() - 1);
    }
}
