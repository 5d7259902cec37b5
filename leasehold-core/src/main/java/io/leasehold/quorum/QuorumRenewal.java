package io.leasehold.quorum;

import io.leasehold.LockName;
import io.leasehold.NodeVote;
import io.leasehold.StoreUnavailableException;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.RenewReply;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Tracks which nodes keep a held lock and since when. Pure: it receives events and returns actions.
 *
 * <p>Rules. Each confirmation (vote, late vote, renewal, repair) counts from its sending; the lock is kept from the
 * quorum-th latest of them. A renewal needs a quorum. Once it has one, and while the lock is valid, each node that
 * reported the key missing is repaired with a fresh ballot: earlier or later, a repair could re-create a lost lock.
 * Only a node that has just reported the key missing is repaired, once per renewal; a ballot below its floor is
 * replaced, twice at most.
 */
final class QuorumRenewal {

    /** An action for the shell. */
    sealed interface Action {}

    /** The renewal is over. */
    record Finish(Verdict verdict) implements Action {}

    /** Propose a fresh ballot of the same owner token to this node. */
    record Repair(int node) implements Action {}

    /** The result of a renewal. */
    enum Verdict {
        /** A quorum keeps the lock, from {@link #keptFromNanos()} on. */
        KEPT,
        /** Too many nodes lack the key: no quorum is left. */
        LOST,
        /** The outcome is unknown. */
        UNKNOWN
    }

    private static final int MAX_REPAIR_BALLOTS = 3;

    private final List<String> nodes;
    private final int quorum;
    private final boolean[] confirmed;
    private final long[] confirmedAtNanos;
    private final RenewReply.@Nullable Item[] replies;
    /** The number of ballots of the current repair; zero without a repair. */
    private final int[] repairBallots;

    /** The nodes that reported the key removed and have not confirmed it since. */
    private final boolean[] taken;

    private final long[] takenAtNanos;

    private long validityNanos;
    private long round = -1;
    private boolean asking;
    private boolean kept;
    private boolean ended;

    /** Creates the state of a lock that is not held yet. */
    QuorumRenewal(List<String> nodes) {
        this.nodes = nodes;
        int n = nodes.size();
        this.quorum = Quorum.majority(n);
        this.confirmed = new boolean[n];
        this.confirmedAtNanos = new long[n];
        this.replies = new RenewReply.Item[n];
        this.repairBallots = new int[n];
        this.taken = new boolean[n];
        this.takenAtNanos = new long[n];
    }

    /** The moment from which a quorum keeps the lock. */
    long keptFromNanos() {
        List<Long> moments = IntStream.range(0, nodes.size())
                .filter(node -> confirmed[node])
                .mapToObj(node -> confirmedAtNanos[node])
                .toList();
        if (moments.size() < quorum) {
            throw new IllegalStateException("only " + moments.size() + " of " + nodes.size() + " nodes ever held it");
        }
        return Quorum.latestReachedBy(quorum, moments);
    }

    /**
     * Notes that the lock was granted. Its validity counts from the time when a quorum keeps it. A lock that was never
     * granted is not repaired.
     */
    void granted(long validity) {
        validityNanos = validity;
    }

    /** Notes that a node keeps the key from this moment on: a vote or a late vote. */
    void confirm(int node, long sentAtNanos) {
        if (!confirmed[node] || sentAtNanos - confirmedAtNanos[node] > 0) {
            confirmed[node] = true;
            confirmedAtNanos[node] = sentAtNanos;
        }
        if (taken[node] && sentAtNanos - takenAtNanos[node] >= 0) {
            // The node was repaired, so an earlier removal there no longer counts.
            taken[node] = false;
        }
    }

    /**
     * Processes a node's report that the key was removed by force.
     *
     * @return whether so many nodes have reported it that no quorum keeps the lock
     */
    boolean taken(int node, long nowNanos) {
        taken[node] = true;
        takenAtNanos[node] = nowNanos;
        int without = 0;
        for (boolean one : taken) {
            without += one ? 1 : 0;
        }
        return !ended && nodes.size() - without < quorum;
    }

    /** Notes that a renewal is sent to all nodes; it replaces the previous one. */
    void begin(long renewal) {
        round = renewal;
        asking = !ended;
        kept = false;
        Arrays.fill(replies, null);
    }

    /** Processes a node's answer to a renewal and returns the actions, in this order. */
    List<Action> answered(int node, long renewal, RenewReply.Item reply, long nowNanos) {
        if (reply instanceof RenewReply.Renewed renewed) {
            confirm(node, renewed.sentAtNanos());
        }
        if (renewal != round || replies[node] != null) {
            return List.of();
        }
        replies[node] = reply;
        return asking ? decide(false, nowNanos) : repair(node, nowNanos);
    }

    /** Processes the end of the time limit: nodes that have not answered count as failed. */
    List<Action> late(long renewal, long nowNanos) {
        return asking && renewal == round ? decide(true, nowNanos) : List.of();
    }

    private List<Action> decide(boolean late, long nowNanos) {
        int yes = 0;
        int gone = 0;
        int pending = 0;
        for (RenewReply.Item reply : replies) {
            yes += reply instanceof RenewReply.Renewed ? 1 : 0;
            gone += reply instanceof RenewReply.NotOurs ? 1 : 0;
            pending += reply == null && !late ? 1 : 0;
        }
        Verdict verdict;
        if (yes >= quorum) {
            verdict = Verdict.KEPT;
        } else if (nodes.size() - gone < quorum) {
            verdict = Verdict.LOST;
        } else if (yes + pending < quorum) {
            verdict = Verdict.UNKNOWN;
        } else {
            return List.of();
        }
        asking = false;
        kept = verdict == Verdict.KEPT;
        List<Action> actions = new ArrayList<>();
        actions.add(new Finish(verdict));
        for (int node = 0; node < nodes.size(); node++) {
            actions.addAll(repair(node, nowNanos));
        }
        return actions;
    }

    private List<Action> repair(int node, long nowNanos) {
        boolean isMissing = kept && replies[node] instanceof RenewReply.NotOurs;
        return isMissing && repairBallots[node] == 0 ? propose(node, nowNanos) : List.of();
    }

    /** Processes a node's answer to its repair and returns the actions, in this order. */
    List<Action> repaired(int node, long sentAtNanos, NodeReply reply, long nowNanos) {
        if (reply instanceof NodeReply.Stale && repairBallots[node] > 0) {
            return propose(node, nowNanos);
        }
        repairBallots[node] = 0;
        if (reply instanceof NodeReply.Yes) {
            confirm(node, sentAtNanos);
        }
        return List.of();
    }

    private List<Action> propose(int node, long nowNanos) {
        boolean isValid = keptFromNanos() + validityNanos - nowNanos > 0;
        if (isValid && repairBallots[node] < MAX_REPAIR_BALLOTS) {
            repairBallots[node]++;
            return List.of(new Repair(node));
        }
        repairBallots[node] = 0;
        return List.of();
    }

    /** Ends the owner token: no action follows. */
    void end() {
        ended = true;
        asking = false;
        kept = false;
        Arrays.fill(repairBallots, 0);
    }

    /** The answer to a renewal of these locks. */
    RenewReply.Item reply(Verdict verdict, List<LockName> names) {
        return switch (verdict) {
            case KEPT -> new RenewReply.Renewed(keptFromNanos());
            case LOST -> new RenewReply.NotOurs(votes());
            case UNKNOWN ->
                new RenewReply.Failed(new StoreUnavailableException(
                        "renewal of " + names + " found no quorum of " + quorum + " of " + nodes.size() + " nodes; "
                                + Votes.line(votes()),
                        votes(),
                        null));
        };
    }

    /** Each node's answer to the last renewal. */
    List<NodeVote> votes() {
        return Votes.of(nodes, replies, Votes::of);
    }
}
