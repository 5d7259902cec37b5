package io.leasehold.quorum;

import io.leasehold.NodeVote;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.TokenRange;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The votes on one owner token, from its first ballot until nothing is left to decide. Pure: it receives events and
 * returns actions.
 *
 * <p>Rules. A vote counts only for the ballot that it answers; ballots of one owner token strictly increase. A round is
 * answered at the quorum-th yes, or as soon as a quorum has become impossible. After a stale answer, another ballot
 * goes to all nodes once the current one cannot win. A yes that arrives after the win joins the grant, whichever ballot
 * it answers. If a yes is or may be at a node after a lost round, an undo goes to all nodes; after that, nothing is
 * ever proposed with this owner token, unless it holds the lock from an earlier round.
 *
 * <p>The votes of a claimant, which resumes an exported lease, are swaps of the ticket's owner token. They are never undone:
 * an undo would destroy a ticket that is still valid. After a lost round the same owner token asks again. Only if other
 * claimants have votes and none has a quorum, the votes are returned to the ticket, and the owner token is not used again.
 *
 * <p>The votes of a downgrade are swaps, too. After a lost round the same owner token asks again, unless the round has proved
 * that no quorum kept the lock for the writer: then the votes are undone.
 */
final class QuorumRound {

    /**
     * The maximum number of ballots before a round counts as lost. Since the distance doubles, more ballots are
     * pointless.
     */
    private static final int MAX_BALLOTS = 12;

    /**
     * An answer of a node to a ballot.
     *
     * @param candidate the answered ballot
     * @param sentAtNanos the time when it was sent
     * @param nowNanos the time of the answer
     * @param estimateMicros the clock of the set
     */
    record Vote(int node, long candidate, long sentAtNanos, long nowNanos, NodeReply reply, long estimateMicros) {}

    /** An action for the shell. */
    sealed interface Action {}

    /** Send this ballot to all nodes. */
    record Propose(long candidate) implements Action {}

    /** The round is over. */
    record Finish(RoundVerdict verdict) implements Action {}

    /** End the owner token on all nodes; it is not used again. */
    record Undo() implements Action {}

    /** Return the votes on the owner token to its ticket at all nodes; the owner token is not used again. */
    record ReturnVotes() implements Action {}

    /**
     * A part of the nodes has answered this ballot after {@code tookNanos}, and the time for the rest must be limited: the
     * lock is contended, and a majority has answered; or the votes for a ticket cannot be won.
     */
    record Limit(long candidate, long sentAtNanos, long tookNanos) implements Action {}

    /** A node keeps the key from this moment on. */
    record Confirm(int node, long sentAtNanos) implements Action {}

    /** The use of the votes. */
    enum Purpose {
        ACQUIRE,
        RESUME,
        /** The votes of a reader that takes the place of a writer: swaps, as those of a claimant, and the lease itself. */
        DOWNGRADE
    }

    private enum Phase {
        IDLE,
        ASKING,
        ENDED
    }

    private final Purpose purpose;
    private final List<String> nodes;
    private final long boundMicros;
    private final long quarantineMillis;

    private final @Nullable NodeReply[] votes;
    private final boolean[] late;
    private final long[] sentAtNanos;
    /** Whether a node may keep the key: it said yes, or has unanswered requests. */
    private final boolean[] yes;

    private final boolean[] unknown;
    private final int[] outstanding;

    /** Whether a limit was requested in the current ballot. */
    private boolean limited;

    private Phase phase = Phase.IDLE;
    /** The nodes from which this round need not expect an answer. */
    private BitSet silent = new BitSet();

    private boolean held;
    private long candidate;
    private int reserve;
    private int stale;
    private long highest;
    private long estimateMicros;

    /**
     * Creates the state of an owner token that was never sent.
     *
     * @param nodes the names of the nodes, for messages
     * @param boundMicros the bound B: a floor further ahead of the clock is refused and never recorded
     * @param quarantineMillis the time for which a node that may have lost grants does not grant, for messages
     */
    QuorumRound(List<String> nodes, long boundMicros, long quarantineMillis) {
        this(Purpose.ACQUIRE, nodes, boundMicros, quarantineMillis);
    }

    /** Creates the state of an owner token that was never sent: see the other constructor. */
    QuorumRound(Purpose purpose, List<String> nodes, long boundMicros, long quarantineMillis) {
        this.purpose = purpose;
        this.nodes = nodes;
        this.boundMicros = boundMicros;
        this.quarantineMillis = quarantineMillis;
        int n = nodes.size();
        this.votes = new NodeReply[n];
        this.late = new boolean[n];
        this.sentAtNanos = new long[n];
        this.yes = new boolean[n];
        this.unknown = new boolean[n];
        this.outstanding = new int[n];
    }

    /** The highest token proposed, or zero. */
    long highest() {
        return highest;
    }

    /** Whether the owner token was ended, so that no proposal may follow. */
    boolean isEnded() {
        return phase == Phase.ENDED;
    }

    /** Whether all answers have arrived and no node can hold anything. */
    boolean isForgotten() {
        return phase != Phase.ASKING
                && !held
                && IntStream.range(0, nodes.size())
                        .noneMatch(node -> yes[node] || unknown[node] || outstanding[node] > 0);
    }

    /**
     * Begins a round with this ballot, which is higher than all earlier ones. Returns the actions, in this order.
     *
     * @param silentNodes the nodes from which the round need not expect an answer; an answer that arrives counts
     */
    List<Action> start(long ballot, int tokens, BitSet silentNodes) {
        if (phase != Phase.IDLE || ballot <= highest) {
            throw new IllegalStateException("a round with ballot " + ballot + " after " + highest + " while " + phase);
        }
        phase = Phase.ASKING;
        reserve = tokens;
        silent = (BitSet) silentNodes.clone();
        stale = 0;
        return List.of(propose(ballot));
    }

    /** Whether a node may keep the lock for this owner token, or may do so once a request arrives. */
    boolean mayHaveVotes() {
        return IntStream.range(0, nodes.size()).anyMatch(node -> yes[node] || unknown[node] || outstanding[node] > 0);
    }

    /** Notes that the owner token is ended: released or abandoned. */
    void end() {
        phase = Phase.ENDED;
        held = false;
    }

    private Action propose(long ballot) {
        candidate = ballot;
        highest = ballot + reserve - 1;
        limited = false;
        Arrays.fill(votes, null);
        Arrays.fill(late, false);
        for (int node = 0; node < nodes.size(); node++) {
            outstanding[node]++;
        }
        return new Propose(ballot);
    }

    /** Processes the end of the time limit: nodes that have not answered this ballot count as failed in its round. */
    List<Action> late(long ballot) {
        if (phase != Phase.ASKING || ballot != candidate) {
            return List.of();
        }
        for (int node = 0; node < nodes.size(); node++) {
            late[node] = votes[node] == null;
        }
        return decide();
    }

    /** Processes an answer of a node and returns the actions, in this order. */
    List<Action> voted(Vote event) {
        int node = event.node();
        estimateMicros = Math.max(estimateMicros, event.estimateMicros());
        outstanding[node]--;
        NodeReply reply = event.reply();
        boolean isYes = reply instanceof NodeReply.Yes;
        yes[node] |= isYes;
        unknown[node] |= reply instanceof NodeReply.Failed failed && failed.kind() == FailureKind.UNKNOWN;
        unknown[node] |= reply instanceof NodeReply.Refused refused && refused.spent();
        List<Action> actions = new ArrayList<>(2);
        if (phase == Phase.ENDED) {
            return actions;
        }
        if (isYes && held && !resumes()) {
            actions.add(new Confirm(node, event.sentAtNanos()));
        }
        if (phase == Phase.ASKING) {
            if (event.candidate() == candidate && votes[node] == null) {
                votes[node] = reply;
                late[node] = false;
                sentAtNanos[node] = event.sentAtNanos();
                List<Action> decided = decide();
                actions.addAll(decided.isEmpty() ? limit(event) : decided);
            }
        } else if (!held && purpose == Purpose.ACQUIRE && (isYes || unknown[node])) {
            actions.add(undo());
        }
        return actions;
    }

    /**
     * Limits the time of the remaining nodes under contention. Without contention they get the node timeout, since a
     * set may need distant nodes. Those of a lost round for a ticket only show whether another claimant has a quorum.
     */
    private List<Action> limit(Vote last) {
        long answered = Arrays.stream(votes)
                .filter(vote -> vote instanceof NodeReply.Yes || isContended(vote))
                .count();
        boolean isContended = Arrays.stream(votes).anyMatch(QuorumRound::isContended);
        boolean isWanted = resumes() ? tally().isLost() : isContended && answered >= Quorum.majority(nodes.size());
        if (limited || !isWanted) {
            return List.of();
        }
        limited = true;
        return List.of(new Limit(candidate, last.sentAtNanos(), last.nowNanos() - last.sentAtNanos()));
    }

    private boolean resumes() {
        return purpose == Purpose.RESUME;
    }

    private static boolean isContended(@Nullable NodeReply vote) {
        return vote instanceof NodeReply.Held || vote instanceof NodeReply.Stale;
    }

    private Action undo() {
        phase = Phase.ENDED;
        return new Undo();
    }

    private List<Action> decide() {
        VoteTally tally = tally();
        if (tally.isWon()) {
            return won();
        } else if (!tally.isLost() || (tally.isPending() && !silent.isEmpty())) {
            // Without the silent nodes one answer can end a round, but only the answers of all other nodes show the
            // holder.
            return List.of();
        }
        boolean again = stale < MAX_BALLOTS
                && tally.mayBeWonByAnotherBallot()
                && tally.floor() < TokenRange.LIMIT - ((long) reserve << (stale + 2));
        if (!again && resumes() && tally.isPending() && !tally.isUsedUp()) {
            // Only the answers of all nodes show whether another claimant has a quorum.
            return List.of();
        } else if (!again) {
            return resumes() ? unresumed(tally.verdictOnTicket()) : lost(tally.verdict());
        }
        long lead = (long) reserve << stale;
        stale++;
        return List.of(propose(Math.max(highest, Math.max(tally.floor(), estimateMicros)) + lead));
    }

    private VoteTally tally() {
        return new VoteTally(nodes, votes, absent(), estimateMicros, boundMicros, quarantineMillis);
    }

    /** The nodes that have not answered and from which no answer is expected any more. */
    private boolean[] absent() {
        boolean[] absent = new boolean[nodes.size()];
        for (int node = 0; node < absent.length; node++) {
            absent[node] = votes[node] == null && (late[node] || silent.get(node));
        }
        return absent;
    }

    private List<Action> won() {
        List<Long> times = new ArrayList<>();
        List<Action> actions = new ArrayList<>();
        for (int node = 0; node < nodes.size(); node++) {
            if (votes[node] instanceof NodeReply.Yes) {
                times.add(sentAtNanos[node]);
                if (!resumes()) {
                    actions.add(new Confirm(node, sentAtNanos[node]));
                }
            }
        }
        phase = Phase.IDLE;
        held = true;
        long sentAt = Quorum.latestReachedBy(Quorum.majority(nodes.size()), times);
        actions.add(0, new Finish(new RoundVerdict.Won(TokenRange.of(candidate, reserve), sentAt)));
        return actions;
    }

    private List<Action> lost(RoundVerdict verdict) {
        phase = Phase.IDLE;
        Finish finish = new Finish(verdict);
        boolean isOver = verdict instanceof RoundVerdict.Contended contended && contended.holds();
        if (purpose == Purpose.DOWNGRADE) {
            return isOver ? List.of(undo(), finish) : List.of(finish);
        }
        boolean left = IntStream.range(0, nodes.size()).anyMatch(node -> yes[node] || unknown[node] || late[node]);
        return !held && left ? List.of(undo(), finish) : List.of(finish);
    }

    private List<Action> unresumed(RoundVerdict verdict) {
        phase = Phase.IDLE;
        Finish finish = new Finish(verdict);
        boolean isSplit = verdict instanceof RoundVerdict.Contended contended && !contended.holds();
        boolean isPermanent = verdict instanceof RoundVerdict.NoQuorum none && none.permanent();
        if ((isSplit || isPermanent) && mayHaveVotes()) {
            phase = Phase.ENDED;
            return List.of(new ReturnVotes(), finish);
        }
        return List.of(finish);
    }

    /** Each node's answer to the last ballot. */
    List<NodeVote> votes() {
        return Votes.of(nodes, votes, Votes::of);
    }
}
