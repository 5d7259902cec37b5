package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Holder;
import io.leasehold.NodeVote;
import io.leasehold.StoreUnavailableException;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the answers for a lost round: the holder, the reason, and the delay before a retry. */
@Tag("quick")
final class QuorumRoundVerdictTest {

    private static final long MS = 1_000_000;
    private static final long CANDIDATE = 1_000;
    private static final long QUARANTINE_MILLIS = 900;
    private static final Incarnation LIFE = new Incarnation("life");
    private static final List<String> THREE = List.of("a", "b", "c");
    private static final List<String> FIVE = List.of("a", "b", "c", "d", "e");

    private static final NodeReply YES = new NodeReply.Yes(LIFE, 0);
    private static final NodeReply HELD = held(null);
    private static final NodeReply FAILED = failed(FailureKind.NO_EFFECT);
    private static final NodeReply PERMANENT = failed(FailureKind.PERMANENT);
    private static final NodeReply OTHER_SET = new NodeReply.OtherSet("another", LIFE, 0);
    private static final NodeReply UNBORN = new NodeReply.Unborn("nonce", LIFE, 0);
    /** A floor so high that no ballot is possible above it; without a known clock it must be trusted. */
    private static final NodeReply OVERTAKEN = stale(TokenRange.LIMIT - 1);

    private static NodeReply failed(FailureKind kind) {
        return new NodeReply.Failed(kind, new StoreUnavailableException("no answer", null));
    }

    private static NodeReply stale(long floor) {
        return new NodeReply.Stale(floor, LIFE, 0);
    }

    private static NodeReply refused(long retryNanos) {
        return new NodeReply.Refused("busy with itself", retryNanos, LIFE, 0);
    }

    private static NodeReply held(@Nullable Holder holder) {
        return new NodeReply.Held(holder, false, LIFE, 0);
    }

    private static Holder holder(String id, @Nullable Long millisLeft) {
        return new Holder(id, millisLeft == null ? null : Duration.ofMillis(millisLeft), OptionalLong.empty());
    }

    /** Nodes a, b, … answer in this order; a set clock of zero is unknown. */
    private static QuorumRound asked(List<String> nodes, long estimateMicros, NodeReply... replies) {
        QuorumRound round = new QuorumRound(nodes, 1_000, QUARANTINE_MILLIS);
        round.start(CANDIDATE, 1, new BitSet());
        for (int node = 0; node < replies.length - 1; node++) {
            assertThat(round.voted(vote(node, replies[node], estimateMicros)))
                    .as("nothing is decided before the last of these answers")
                    .allMatch(QuorumRound.Limit.class::isInstance);
        }
        return round;
    }

    private static QuorumRound.Vote vote(int node, NodeReply reply, long estimateMicros) {
        return new QuorumRound.Vote(node, CANDIDATE, 1, 1, reply, estimateMicros);
    }

    private static RoundVerdict verdict(List<String> nodes, NodeReply... replies) {
        return verdictAt(nodes, 0, replies);
    }

    private static RoundVerdict verdictAt(List<String> nodes, long estimateMicros, NodeReply... replies) {
        int last = replies.length - 1;
        QuorumRound round = asked(nodes, estimateMicros, replies);
        return only(round.voted(vote(last, replies[last], estimateMicros)));
    }

    /** The same after the end of the wait for the nodes that have not answered. */
    private static RoundVerdict verdictWhenLate(List<String> nodes, NodeReply... replies) {
        NodeReply[] andNoMore = java.util.Arrays.copyOf(replies, replies.length + 1);
        return only(asked(nodes, 0, andNoMore).late(CANDIDATE));
    }

    private static RoundVerdict only(List<QuorumRound.Action> actions) {
        return actions.stream()
                .filter(QuorumRound.Finish.class::isInstance)
                .map(action -> ((QuorumRound.Finish) action).verdict())
                .reduce((one, other) -> {
                    throw new AssertionError("two ends: " + one + ", " + other);
                })
                .orElseThrow();
    }

    @Test
    void troubleThatStaysIsToldAsSuchOnlyIfItTakesAwayTheQuorum() {
        assertThat(verdict(THREE, PERMANENT, PERMANENT)).isEqualTo(new RoundVerdict.NoQuorum(true));
        assertThat(verdict(THREE, OTHER_SET, PERMANENT)).isEqualTo(new RoundVerdict.NoQuorum(true));
        assertThat(verdict(THREE, OTHER_SET, OTHER_SET)).isEqualTo(new RoundVerdict.NoQuorum(true));
        assertThat(verdict(THREE, PERMANENT, FAILED)).isEqualTo(new RoundVerdict.NoQuorum(false));
        assertThat(verdict(THREE, FAILED, FAILED)).isEqualTo(new RoundVerdict.NoQuorum(false));
        assertThat(verdictWhenLate(THREE, OTHER_SET)).isEqualTo(new RoundVerdict.NoQuorum(false));
    }

    @Test
    void othersHoldItIfTheyHoldSoManyThatNobodyElseCanHaveAQuorum() {
        assertThat(verdict(THREE, HELD, HELD)).isEqualTo(new RoundVerdict.Contended(null, true, 0));
        assertThat(verdict(FIVE, HELD, HELD, HELD)).isEqualTo(new RoundVerdict.Contended(null, true, 0));
        assertThat(verdict(FIVE, HELD, HELD, YES, FAILED)).isEqualTo(new RoundVerdict.Contended(null, false, 0));
    }

    @Test
    void votesAreSplitWhereEnoughNodesWouldGrantToSomebody() {
        assertThat(verdict(THREE, HELD, YES, FAILED)).isEqualTo(new RoundVerdict.Contended(null, false, 0));
        assertThat(verdict(THREE, YES, OVERTAKEN, OVERTAKEN)).isEqualTo(new RoundVerdict.Contended(null, false, 0));
        assertThat(verdict(THREE, HELD, refused(MS))).isEqualTo(new RoundVerdict.Contended(null, false, 0));
        assertThat(verdict(THREE, YES, FAILED, refused(MS))).isInstanceOf(RoundVerdict.Refused.class);
    }

    @Test
    void theNodesThatWillWakeUsAreCounted() {
        NodeReply queued = new NodeReply.Held(null, true, LIFE, 0);
        assertThat(verdict(FIVE, queued, HELD, queued)).isEqualTo(new RoundVerdict.Contended(null, true, 2));
    }

    @Test
    void theHolderIsWhoHoldsMostNodes() {
        Holder one = holder("one", 100L);
        Holder other = holder("other", 300L);
        assertThat(holderOf(FIVE, held(one), held(other), held(other))).isEqualTo(other);
        assertThat(holderOf(FIVE, held(other), held(one), held(other))).isEqualTo(other);
        assertThat(holderOf(THREE, held(one), held(other)))
                .as("of two that hold as many the first that was heard of")
                .isEqualTo(one);
        assertThat(holderOf(THREE, HELD, held(one)))
                .as("a node that does not say who it is")
                .isEqualTo(one);
    }

    @Test
    void ofOneHolderTheLongestTimeLeftIsTold() {
        Holder sooner = holder("one", 100L);
        Holder later = holder("one", 300L);
        Holder timeless = holder("one", null);
        assertThat(holderOf(THREE, held(sooner), held(later))).isEqualTo(later);
        assertThat(holderOf(THREE, held(later), held(sooner))).isEqualTo(later);
        assertThat(holderOf(FIVE, held(later), held(sooner), held(timeless))).isEqualTo(later);
    }

    private static @Nullable Holder holderOf(List<String> nodes, NodeReply... replies) {
        return ((RoundVerdict.Contended) verdict(nodes, replies)).holder();
    }

    @Test
    void refusedMeansThatEnoughNodesAnswered() {
        assertThat(verdict(THREE, refused(7 * MS), FAILED))
                .isEqualTo(new RoundVerdict.Refused("not for another 8 ms (a: busy with itself)", 7 * MS));
        assertThat(verdictWhenLate(THREE, refused(7 * MS))).isEqualTo(new RoundVerdict.NoQuorum(false));
    }

    @Test
    void askingAgainMakesSenseWhenAQuorumMayGrantAgain() {
        assertThat(retryOf(verdict(FIVE, refused(30 * MS), refused(10 * MS), refused(20 * MS))))
                .as("one of three is enough for a quorum")
                .isEqualTo(10 * MS);
        assertThat(retryOf(verdictWhenLate(FIVE, refused(30 * MS), refused(20 * MS), YES)))
                .as("two have failed, so both must have ended refusing")
                .isEqualTo(30 * MS);
        assertThat(retryOf(verdictWhenLate(FIVE, refused(30 * MS), refused(20 * MS), YES, YES)))
                .as("one has failed, so one must have ended refusing")
                .isEqualTo(20 * MS);
        assertThat(retryOf(verdict(FIVE, refused(30 * MS), OVERTAKEN, OVERTAKEN)))
                .as("enough do not refuse, but were overtaken")
                .isEqualTo(30 * MS);
    }

    private static long retryOf(RoundVerdict verdict) {
        return ((RoundVerdict.Refused) verdict).retryNanos();
    }

    @Test
    void aQuarantineIsToldWithItsEnd() {
        NodeReply young = new NodeReply.Quarantined(500 * MS, LIFE, 0);
        assertThat(verdict(THREE, young, young))
                .isEqualTo(new RoundVerdict.Refused(
                        "not for another 501 ms (a: it may have forgotten what it granted, and grants nothing for 501 ms more;"
                                + " b: it may have forgotten what it granted, and grants nothing for 501 ms more)",
                        500 * MS));
    }

    /** The node receives its birth meanwhile and reports the rest of its quarantine at the next request. */
    @Test
    void aNodeWithoutABirthIsAskedAgainSoonAndToldOfWithAWholeQuarantine() {
        assertThat(verdict(THREE, UNBORN, FAILED))
                .isEqualTo(new RoundVerdict.Refused(
                        "not for another 901 ms (a: it may have forgotten what it granted, and grants nothing for 900 ms"
                                + " more)",
                        10 * MS));
    }

    @Test
    void aFenceThatNoClockExplainsIsNamed() {
        assertThat(verdictAt(THREE, 5_000, stale(6_001), stale(6_001)))
                .isEqualTo(new RoundVerdict.Refused(
                        "not for another 11 ms (a: its fence 6001 is too far ahead of the clock to be believed;"
                                + " b: its fence 6001 is too far ahead of the clock to be believed)",
                        10 * MS));
    }

    @Test
    void beingOvertakenOverAndOverIsNoFailureOfTheNodes() {
        RoundVerdict overtaken = new RoundVerdict.Refused("every fencing token proposed was overtaken", 10 * MS);
        assertThat(verdict(THREE, OVERTAKEN, OVERTAKEN)).isEqualTo(overtaken);
        assertThat(verdict(THREE, OVERTAKEN, FAILED)).isEqualTo(overtaken);
        assertThat(verdictWhenLate(THREE, OVERTAKEN)).isEqualTo(new RoundVerdict.NoQuorum(false));
        assertThat(verdictWhenLate(FIVE, OVERTAKEN, refused(MS))).isEqualTo(new RoundVerdict.NoQuorum(false));
    }

    @Test
    void eachNodesAnswerIsToldUnderItsName() {
        QuorumRound round = asked(THREE, 0, YES, HELD, FAILED);
        assertThat(round.votes())
                .containsExactly(
                        new NodeVote("a", NodeVote.Answer.GRANTED, ""),
                        new NodeVote("b", NodeVote.Answer.BUSY, ""),
                        new NodeVote("c", NodeVote.Answer.FAILED, "has not answered in time"));
    }

    private static QuorumRound.Vote sent(int node, long sentAtNanos, NodeReply reply) {
        return new QuorumRound.Vote(node, CANDIDATE, sentAtNanos, sentAtNanos, reply, 0);
    }

    private static QuorumRound begun(List<String> nodes) {
        QuorumRound round = new QuorumRound(nodes, 1_000, QUARANTINE_MILLIS);
        round.start(CANDIDATE, 1, new BitSet());
        return round;
    }

    /** A node whose request was sent later keeps its key for longer, but only a quorum of them counts. */
    @Test
    void aRoundIsWonFromTheMomentThatAQuorumHasReachedAndConfirmedToThoseThatSaidYes() {
        QuorumRound round = begun(FIVE);
        round.voted(sent(0, 50, YES));
        round.voted(sent(1, 70, HELD));
        round.voted(sent(2, 10, YES));
        assertThat(round.voted(sent(4, 30, YES)))
                .containsExactly(
                        new QuorumRound.Finish(new RoundVerdict.Won(TokenRange.of(CANDIDATE, 1), 10)),
                        new QuorumRound.Confirm(0, 50),
                        new QuorumRound.Confirm(2, 10),
                        new QuorumRound.Confirm(4, 30));
        assertThat(round.voted(sent(3, 60, YES))).containsExactly(new QuorumRound.Confirm(3, 60));
    }

    @Test
    void whatIsHeldIsNotUndoneByALateAnswerAndWhatIsNotIs() {
        NodeReply unknown = failed(FailureKind.UNKNOWN);
        QuorumRound won = begun(THREE);
        won.voted(sent(0, 1, YES));
        won.voted(sent(1, 1, YES));
        assertThat(won.voted(sent(2, 1, unknown))).isEmpty();
        for (NodeReply late : List.of(YES, unknown)) {
            QuorumRound lost = begun(THREE);
            lost.voted(sent(0, 1, HELD));
            assertThat(lost.voted(sent(1, 1, HELD))).hasSize(1);
            assertThat(lost.voted(sent(2, 1, late))).containsExactly(new QuorumRound.Undo());
        }
        QuorumRound lost = begun(THREE);
        lost.voted(sent(0, 1, HELD));
        lost.voted(sent(1, 1, HELD));
        assertThat(lost.voted(sent(2, 1, HELD))).isEmpty();
    }

    @Test
    void aNodeThatWasLateForOneBallotIsWaitedForAtTheNext() {
        QuorumRound round = begun(FIVE);
        round.voted(sent(0, 1, YES));
        round.voted(sent(1, 1, stale(CANDIDATE + 5)));
        assertThat(round.voted(sent(2, 1, stale(CANDIDATE + 5)))).allMatch(QuorumRound.Limit.class::isInstance);
        long next = round.late(CANDIDATE).stream()
                .map(action -> ((QuorumRound.Propose) action).candidate())
                .findFirst()
                .orElseThrow();
        assertThat(round.voted(new QuorumRound.Vote(0, next, 2, 2, YES, 0))).isEmpty();
        assertThat(round.voted(new QuorumRound.Vote(1, next, 2, 2, HELD, 0))).isEmpty();
        assertThat(round.voted(new QuorumRound.Vote(2, next, 2, 2, HELD, 0)))
                .as("two others may say yes")
                .allMatch(QuorumRound.Limit.class::isInstance);
        round.voted(new QuorumRound.Vote(3, next, 2, 2, YES, 0));
        assertThat(only(round.voted(new QuorumRound.Vote(4, next, 3, 3, YES, 0))))
                .isInstanceOf(RoundVerdict.Won.class);
    }
}
