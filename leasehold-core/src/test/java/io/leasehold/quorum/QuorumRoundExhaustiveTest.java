package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests every order of every kind of answer, with lost ones, late ones and further ballots, for sets of up to five
 * nodes. After each event, the test compares the round with a second implementation of the rules without bookkeeping.
 */
@Tag("full")
final class QuorumRoundExhaustiveTest {

    private static final Incarnation LIFE = new Incarnation("life");
    private static final long FIRST = 1_000;

    @SuppressWarnings("ImmutableEnumChecker") // replies are records of values
    private enum Kind {
        YES(new NodeReply.Yes(LIFE, 0)),
        STALE(new NodeReply.Stale(FIRST + 50, LIFE, 0)),
        HELD(new NodeReply.Held(null, false, LIFE, 0)),
        REFUSED(new NodeReply.Refused("quarantine", 1, LIFE, 0)),
        UNKNOWN(new NodeReply.Failed(FailureKind.UNKNOWN, error())),
        NO_EFFECT(new NodeReply.Failed(FailureKind.NO_EFFECT, error()));

        private final NodeReply reply;

        Kind(NodeReply reply) {
            this.reply = reply;
        }
    }

    private static LockStoreException error() {
        return new StoreUnavailableException("no answer", null);
    }

    /** An event: a vote, or the end of the time limit of a ballot (node −1). */
    private record Step(int node, int ballot, Kind kind) {}

    private long walks;
    private Set<Integer> silent = Set.of();

    @Test
    void threeNodesWithEveryKindOfAnswerAndFurtherBallots() {
        walk(3, List.of(Kind.values()), 2, new ArrayList<>(), 5);
        System.out.println("quorum rounds of 3 nodes: " + walks + " states");
        assertThat(walks).isGreaterThan(100_000);
    }

    @Test
    void fourNodes() {
        walk(4, List.of(Kind.YES, Kind.HELD, Kind.UNKNOWN), 1, new ArrayList<>(), 6);
        assertThat(walks).isGreaterThan(10_000);
    }

    @Test
    void fiveNodes() {
        walk(5, List.of(Kind.YES, Kind.HELD, Kind.UNKNOWN), 1, new ArrayList<>(), 6);
        System.out.println("quorum rounds of 5 nodes: " + walks + " states");
        assertThat(walks).isGreaterThan(30_000);
    }

    /** No answer is expected from these nodes: the others decide, but an answer that arrives still counts. */
    @Test
    void silentNodes() {
        silent = Set.of(2);
        walk(3, List.of(Kind.values()), 2, new ArrayList<>(), 4);
        silent = Set.of(4);
        walk(5, List.of(Kind.YES, Kind.HELD, Kind.UNKNOWN), 1, new ArrayList<>(), 6);
        silent = Set.of(1, 3);
        walk(5, List.of(Kind.YES, Kind.HELD, Kind.UNKNOWN), 1, new ArrayList<>(), 6);
        assertThat(walks).isGreaterThan(60_000);
    }

    @Test
    void oneAndTwoNodes() {
        walk(1, List.of(Kind.values()), 2, new ArrayList<>(), 5);
        walk(2, List.of(Kind.values()), 2, new ArrayList<>(), 5);
        assertThat(walks).isGreaterThan(500);
    }

    /** Walks depth first and creates a new round for each state, so that no state is copied. */
    private void walk(int n, List<Kind> kinds, int ballots, List<Step> steps, int depth) {
        walks++;
        Observed observed = replay(n, silent, steps);
        if (depth == 0) {
            return;
        }
        for (int ballot = 0; ballot < observed.candidates.size(); ballot++) {
            for (int node = 0; node < n; node++) {
                if (observed.answered.contains(ballot * n + node)) {
                    continue;
                }
                for (Kind kind : kinds) {
                    if (kind != Kind.STALE || ballot < ballots - 1) {
                        step(n, kinds, ballots, steps, depth, new Step(node, ballot, kind));
                    }
                }
            }
            if (!observed.late.contains(ballot)) {
                step(n, kinds, ballots, steps, depth, new Step(-1, ballot, Kind.UNKNOWN));
            }
        }
    }

    private void step(int n, List<Kind> kinds, int ballots, List<Step> steps, int depth, Step next) {
        steps.add(next);
        walk(n, kinds, ballots, steps, depth - 1);
        steps.remove(steps.size() - 1);
    }

    /** The results so far, and the knowledge of an observer. */
    private static final class Observed {
        private final int n;
        private final int quorum;
        private final List<Long> candidates = new ArrayList<>();
        private final Set<Integer> answered = new HashSet<>();
        private final Set<Integer> late = new HashSet<>();
        private final Set<Integer> yesToLast = new HashSet<>();
        private final Set<Integer> decidedForLast = new HashSet<>();
        private final Set<Integer> silent;
        private final Set<Integer> mayKeep = new HashSet<>();
        private final Set<Integer> confirmed = new HashSet<>();
        private RoundVerdict verdict;
        private boolean undone;

        Observed(int n, Set<Integer> silent) {
            this.n = n;
            this.silent = silent;
            this.quorum = n / 2 + 1;
        }

        void take(List<QuorumRound.Action> actions, String history) {
            for (QuorumRound.Action action : actions) {
                if (action instanceof QuorumRound.Propose propose) {
                    assertThat(undone)
                            .as("a ballot after the undo: %s", history)
                            .isFalse();
                    assertThat(verdict)
                            .as("a ballot after the end: %s", history)
                            .isNull();
                    assertThat(candidates.isEmpty() || propose.candidate() > candidates.get(candidates.size() - 1))
                            .as("ballots rise: %s", history)
                            .isTrue();
                    candidates.add(propose.candidate());
                    yesToLast.clear();
                    decidedForLast.clear();
                } else if (action instanceof QuorumRound.Finish finish) {
                    assertThat(verdict).as("told twice: %s", history).isNull();
                    verdict = finish.verdict();
                } else if (action instanceof QuorumRound.Undo) {
                    assertThat(verdict instanceof RoundVerdict.Won)
                            .as("the undo of what was won: %s", history)
                            .isFalse();
                    assertThat(undone).as("undone twice: %s", history).isFalse();
                    undone = true;
                } else if (action instanceof QuorumRound.Confirm confirm) {
                    confirmed.add(confirm.node());
                }
            }
        }

        /** The nodes whose answer to the last ballot is still expected. */
        int pending() {
            Set<Integer> known = new HashSet<>(decidedForLast);
            known.addAll(silent);
            return n - known.size();
        }

        void know(Step step) {
            int last = candidates.size() - 1;
            if (step.node() < 0) {
                late.add(step.ballot());
                if (step.ballot() == last && verdict == null) {
                    for (int node = 0; node < n; node++) {
                        if (decidedForLast.add(node)) {
                            mayKeep.add(node);
                        }
                    }
                }
                return;
            }
            answered.add(step.ballot() * n + step.node());
            if (step.kind() == Kind.YES || step.kind() == Kind.UNKNOWN) {
                mayKeep.add(step.node());
            }
            if (step.ballot() == last) {
                decidedForLast.add(step.node());
                if (step.kind() == Kind.YES) {
                    yesToLast.add(step.node());
                }
            }
        }
    }

    /** Another ballot is useful only above the reported floors; a node with a floor refuses all ballots up to it. */
    private static void isAboveTheFloorsTold(Observed observed, int answered, List<Step> steps, String history) {
        long ballot = observed.candidates.get(observed.candidates.size() - 1);
        for (Step step : steps) {
            if (step.ballot() == answered && step.kind().reply instanceof NodeReply.Stale told) {
                assertThat(ballot)
                        .as("a ballot that was refused already: %s", history)
                        .isGreaterThan(told.floor());
            }
        }
    }

    private static Observed replay(int n, Set<Integer> silent, List<Step> steps) {
        List<String> names = new ArrayList<>();
        for (int node = 0; node < n; node++) {
            names.add("n" + node);
        }
        QuorumRound round = new QuorumRound(names, 1_000_000, 1_000);
        Observed observed = new Observed(n, silent);
        BitSet fromStart = new BitSet();
        silent.forEach(fromStart::set);
        observed.take(round.start(FIRST, 1, fromStart), "start");
        for (int i = 0; i < steps.size(); i++) {
            Step step = steps.get(i);
            String history = n + " nodes, " + steps;
            boolean before = observed.verdict == null;
            int ballotsBefore = observed.candidates.size();
            boolean answersLast = step.ballot() == ballotsBefore - 1;
            long candidate = observed.candidates.get(step.ballot());
            observed.know(step);
            int yes = observed.yesToLast.size();
            int pending = observed.pending();
            List<QuorumRound.Action> actions = step.node() < 0
                    ? round.late(candidate)
                    : round.voted(vote(step.node(), candidate, 10L * step.ballot() + step.node(), step.kind()));
            observed.take(actions, history);
            if (observed.candidates.size() > ballotsBefore) {
                isAboveTheFloorsTold(observed, ballotsBefore - 1, steps.subList(0, i + 1), history);
            }
            if (before) {
                judge(observed, yes, pending, answersLast, ballotsBefore, history);
            } else if (observed.verdict instanceof RoundVerdict.Won && step.node() >= 0 && step.kind() == Kind.YES) {
                assertThat(observed.confirmed)
                        .as("a late yes joins: %s", history)
                        .contains(step.node());
            } else if (!(observed.verdict instanceof RoundVerdict.Won)) {
                boolean leaves = step.node() >= 0 && (step.kind() == Kind.YES || step.kind() == Kind.UNKNOWN);
                assertThat(!leaves || observed.undone)
                        .as("a late yes of a lost round stays: %s", history)
                        .isTrue();
            }
        }
        return observed;
    }

    /** With silent nodes, a round also waits for the answers that show the holder. */
    private static boolean isLost(Observed observed, int yes, int pending) {
        return yes + pending < observed.quorum && (observed.silent.isEmpty() || pending == 0);
    }

    private static void judge(
            Observed observed, int yes, int pending, boolean answersLast, int ballotsBefore, String history) {
        boolean another = observed.candidates.size() > ballotsBefore;
        if (yes >= observed.quorum && answersLast) {
            assertThat(observed.verdict).as("won: %s", history).isInstanceOf(RoundVerdict.Won.class);
            RoundVerdict.Won won = (RoundVerdict.Won) observed.verdict;
            assertThat(won.tokens().first()).isEqualTo(observed.candidates.get(observed.candidates.size() - 1));
            assertThat(observed.confirmed).as("the votes: %s", history).containsAll(observed.yesToLast);
        } else if (isLost(observed, yes, pending) && answersLast) {
            assertThat(observed.verdict != null || another)
                    .as("continues though it is impossible: %s", history)
                    .isTrue();
            assertThat(observed.verdict instanceof RoundVerdict.Won)
                    .as("lost: %s", history)
                    .isFalse();
            if (observed.verdict != null) {
                assertThat(observed.undone)
                        .as("what is left is undone: %s", history)
                        .isEqualTo(!observed.mayKeep.isEmpty());
            }
        } else {
            assertThat(observed.verdict).as("ended too early: %s", history).isNull();
            assertThat(another).as("another ballot too early: %s", history).isFalse();
        }
    }

    /** A vote counts only for the ballot it answers. */
    @Test
    void votesForDifferentBallotsMakeNoQuorum() {
        QuorumRound round = new QuorumRound(List.of("a", "b", "c"), 1_000_000, 1_000);
        round.start(FIRST, 1, new BitSet());
        round.voted(vote(0, FIRST, 1, Kind.STALE));
        List<QuorumRound.Action> second = round.voted(vote(1, FIRST, 1, Kind.STALE));
        assertThat(second).singleElement().isInstanceOf(QuorumRound.Propose.class);
        long next = ((QuorumRound.Propose) second.get(0)).candidate();
        assertThat(round.voted(vote(2, FIRST, 1, Kind.YES))).isEmpty();
        assertThat(round.voted(vote(0, next, 2, Kind.YES))).isEmpty();
        assertThat(round.voted(vote(1, next, 3, Kind.YES)).get(0))
                .isEqualTo(new QuorumRound.Finish(new RoundVerdict.Won(io.leasehold.spi.TokenRange.of(next, 1), 2)));
        assertThat(round.voted(vote(2, next, 2, Kind.YES))).containsExactly(new QuorumRound.Confirm(2, 2));
    }

    /** The validity counts from the quorum-th latest vote, even if nanoTime overflows in between. */
    @Test
    void validityCountsFromTheQuorumThLatestVote() {
        QuorumRound round = new QuorumRound(List.of("a", "b", "c", "d", "e"), 1_000_000, 1_000);
        round.start(FIRST, 1, new BitSet());
        round.voted(vote(0, FIRST, Long.MAX_VALUE - 1, Kind.YES));
        round.voted(vote(1, FIRST, Long.MIN_VALUE + 5, Kind.YES));
        QuorumRound.Finish end = (QuorumRound.Finish)
                round.voted(vote(2, FIRST, Long.MAX_VALUE, Kind.YES)).get(0);
        assertThat(((RoundVerdict.Won) end.verdict()).sentAtNanos()).isEqualTo(Long.MAX_VALUE - 1);
    }

    /** The next ballot starts at the current clock of the set; otherwise it would be stale because of its age alone. */
    @Test
    void furtherBallotsAreNotBehindTheClock() {
        QuorumRound round = new QuorumRound(List.of("a", "b", "c"), 1_000_000, 1_000);
        round.start(FIRST, 1, new BitSet());
        NodeReply stale = Kind.STALE.reply;
        round.voted(new QuorumRound.Vote(0, FIRST, 1, 1, stale, FIRST + 700));
        List<QuorumRound.Action> second = round.voted(new QuorumRound.Vote(1, FIRST, 1, 1, stale, FIRST + 600));
        assertThat(((QuorumRound.Propose) second.get(0)).candidate()).isGreaterThan(FIRST + 700);
    }

    /** A floor that no clock explains counts as a refusal and never leads to a higher ballot. */
    @Test
    void absurdFloorsAreNotBelieved() {
        QuorumRound round = new QuorumRound(List.of("a", "b", "c"), 1_000, 1_000);
        round.start(FIRST, 1, new BitSet());
        NodeReply absurd = new NodeReply.Stale(1L << 50, LIFE, 0);
        round.voted(new QuorumRound.Vote(0, FIRST, 1, 1, absurd, FIRST));
        List<QuorumRound.Action> end = round.voted(new QuorumRound.Vote(1, FIRST, 1, 1, absurd, FIRST));
        assertThat(((QuorumRound.Finish) end.get(0)).verdict()).isInstanceOf(RoundVerdict.Refused.class);
        assertThat(round.highest()).isEqualTo(FIRST);
    }

    private static QuorumRound.Vote vote(int node, long candidate, long sentAtNanos, Kind kind) {
        return new QuorumRound.Vote(node, candidate, sentAtNanos, sentAtNanos, kind.reply, FIRST);
    }
}
