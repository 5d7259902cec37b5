package io.leasehold.quorum;

import io.leasehold.LockName;
import io.leasehold.NodeVote;
import io.leasehold.StoreUnavailableException;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.RenewReply;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Tracks which nodes keep a held lock, and since when. Pure: events come in, actions go out.
 *
 * <p>Rules. Each confirmation (vote, late vote, renewal, repair) counts from its sending; the lock is kept from the quorum-th
 * latest of them. A renewal needs a quorum. Once it has one, the nodes that reported the key missing are repaired, with
 * a fresh ballot each, while the lock is valid: before, or later, a repair could re-create a lost lock. Only a node that has
 * just reported it is repaired, once per renewal; a ballot below its floor is replaced, twice at most.
 */
final class QuorumRenewal {

    /** An event. */
    sealed interface Event {}

    /** The lock was granted: its validity counts from when a quorum keeps it. A lock that was never granted is not repaired. */
    record Granted(long validityNanos) implements Event {}

    /** A node keeps the key, from this moment on: a vote or a late vote. */
    record Confirmed(int node, long sentAtNanos) implements Event {}

    /** A renewal is sent to all nodes; it replaces the one before. */
    record Began(long round) implements Event {}

    /** A node has answered. */
    record Answered(int node, long round, RenewReply.Item reply) implements Event {}

    /** The time is over: nodes that have not answered count as failed. */
    record Late(long round) implements Event {}

    /** A node has answered its repair. */
    record Repaired(int node, long sentAtNanos, NodeReply reply) implements Event {}

    /** A node reports that the key was removed by force. */
    record Taken(int node) implements Event {}

    /** The owner token is ended. */
    record Ended() implements Event {}

    /** An action for the shell. */
    sealed interface Action {}

    /** The renewal is over. */
    record Finish(Verdict verdict) implements Action {}

    /** Propose a fresh ballot of the same owner token to this node. */
    record Repair(int node) implements Action {}

    /** So many nodes reported the key removed that no quorum keeps it. */
    record TellTaken() implements Action {}

    /** How a renewal ends. */
    enum Verdict {
        /** A quorum keeps the lock, from {@link #keptFromNanos()} on. */
        KEPT,
        /** So many nodes are without the key that no quorum is left. */
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
    /** The ballots of the repair that is under way; zero if none is. */
    private final int[] repairBallots;

    /** The nodes that reported the key removed, and have not confirmed it since. */
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
        List<Long> moments = new ArrayList<>();
        for (int node = 0; node < nodes.size(); node++) {
            if (confirmed[node]) {
                moments.add(confirmedAtNanos[node]);
            }
        }
        if (moments.size() < quorum) {
            throw new IllegalStateException("only " + moments.size() + " of " + nodes.size() + " nodes ever kept it");
        }
        return Quorum.latestReachedBy(quorum, moments);
    }

    /** Processes an event and returns the actions, in this order. */
    List<Action> on(Event event, long nowNanos) {
        List<Action> actions = new ArrayList<>(1);
        if (ended) {
            return actions;
        }
        if (event instanceof Granted granted) {
            validityNanos = granted.validityNanos();
        } else if (event instanceof Confirmed confirmation) {
            confirm(confirmation.node(), confirmation.sentAtNanos());
        } else if (event instanceof Began began) {
            round = began.round();
            asking = true;
            kept = false;
            Arrays.fill(replies, null);
        } else if (event instanceof Answered answered) {
            answered(answered, nowNanos, actions);
        } else if (event instanceof Late late) {
            if (asking && late.round() == round) {
                decide(true, nowNanos, actions);
            }
        } else if (event instanceof Taken gone) {
            taken(gone.node(), nowNanos, actions);
        } else if (event instanceof Repaired repaired) {
            repaired(repaired, nowNanos, actions);
        } else {
            ended = true;
        }
        return actions;
    }

    private void confirm(int node, long sentAtNanos) {
        if (!confirmed[node] || sentAtNanos - confirmedAtNanos[node] > 0) {
            confirmed[node] = true;
            confirmedAtNanos[node] = sentAtNanos;
        }
        if (taken[node] && sentAtNanos - takenAtNanos[node] >= 0) {
            // Repaired: an earlier removal there no longer counts.
            taken[node] = false;
        }
    }

    private void taken(int node, long nowNanos, List<Action> actions) {
        taken[node] = true;
        takenAtNanos[node] = nowNanos;
        int without = 0;
        for (boolean one : taken) {
            without += one ? 1 : 0;
        }
        if (nodes.size() - without < quorum) {
            actions.add(new TellTaken());
        }
    }

    private void answered(Answered event, long nowNanos, List<Action> actions) {
        int node = event.node();
        RenewReply.Item reply = event.reply();
        if (reply instanceof RenewReply.Renewed renewed) {
            confirm(node, renewed.sentAtNanos());
        }
        if (event.round() != round || replies[node] != null) {
            return;
        }
        replies[node] = reply;
        if (asking) {
            decide(false, nowNanos, actions);
        } else if (kept) {
            repair(node, nowNanos, actions);
        }
    }

    private void decide(boolean late, long nowNanos, List<Action> actions) {
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
            return;
        }
        asking = false;
        kept = verdict == Verdict.KEPT;
        actions.add(new Finish(verdict));
        for (int node = 0; kept && node < nodes.size(); node++) {
            repair(node, nowNanos, actions);
        }
    }

    private void repair(int node, long nowNanos, List<Action> actions) {
        if (replies[node] instanceof RenewReply.NotOurs && repairBallots[node] == 0) {
            propose(node, nowNanos, actions);
        }
    }

    private void repaired(Repaired event, long nowNanos, List<Action> actions) {
        int node = event.node();
        if (event.reply() instanceof NodeReply.Stale && repairBallots[node] > 0) {
            propose(node, nowNanos, actions);
            return;
        }
        repairBallots[node] = 0;
        if (event.reply() instanceof NodeReply.Yes) {
            confirm(node, event.sentAtNanos());
        }
    }

    private void propose(int node, long nowNanos, List<Action> actions) {
        boolean isValid = keptFromNanos() + validityNanos - nowNanos > 0;
        if (isValid && repairBallots[node] < MAX_REPAIR_BALLOTS) {
            repairBallots[node]++;
            actions.add(new Repair(node));
        } else {
            repairBallots[node] = 0;
        }
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
