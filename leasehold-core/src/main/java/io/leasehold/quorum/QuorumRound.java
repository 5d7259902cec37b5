package io.leasehold.quorum;

import io.leasehold.Holder;
import io.leasehold.NodeVote;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.NodeReply;
import io.leasehold.spi.TokenRange;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The votes on one owner token, from its first ballot to the moment from which nothing of it is left to be decided. Pure:
 * events come in, actions go out.
 *
 * <p>Rules. A vote counts only for the ballot it answers; ballots of one owner token strictly rise. A round is answered at the
 * quorum-th yes, or as soon as it has become impossible. A stale answer leads to another ballot, at all nodes, once the
 * present one cannot win. A yes that comes after the win joins the grant, whichever ballot it answers. A yes that is or may
 * be left at a node after a round was lost leads to an undo on all nodes; after that nothing is ever proposed with this
 * owner token, unless it holds the lock from an earlier round.
 */
final class QuorumRound {

    /** Ballots of one round before it counts as lost; doubling makes more of them pointless. */
    private static final int MAX_BALLOTS = 12;

    /** What happens. */
    sealed interface Event {}

    /** A round begins with this ballot, which is higher than all before. */
    record Started(long candidate, int reserve) implements Event {}

    /**
     * A node has answered a ballot.
     *
     * @param candidate the ballot it answers
     * @param sentAtNanos when that was sent
     * @param estimateMicros the clock of the set
     */
    record Voted(int node, long candidate, long sentAtNanos, NodeReply reply, long estimateMicros) implements Event {}

    /** Nodes that have not answered this ballot by now count as failed in its round. */
    record Late(long candidate) implements Event {}

    /** The owner token is ended from outside: released, or given up. */
    record Ended() implements Event {}

    /** What the shell is to do. */
    sealed interface Action {}

    /** Send this ballot to all nodes. */
    record Propose(long candidate) implements Action {}

    /** The round is over. */
    record Finish(Verdict verdict) implements Action {}

    /** End the owner token on all nodes; nothing else is sent with it. */
    record Undo() implements Action {}

    /** A node keeps the key, counted from this moment. */
    record Confirm(int node, long sentAtNanos) implements Action {}

    /** How a round ends. */
    sealed interface Verdict {}

    /** A quorum said yes to one ballot. */
    record Won(TokenRange tokens, long sentAtNanos) implements Verdict {}

    /**
     * Nodes that could have made a quorum do not, because others hold them.
     *
     * @param holder who holds most of them
     * @param holds whether so many are held by others that nobody else can have a quorum; else votes were split
     * @param queued how many nodes will wake us
     */
    record Contended(@Nullable Holder holder, boolean holds, int queued) implements Verdict {}

    /** Nodes that could have made a quorum may not grant now. */
    record Refused(String reason, long retryNanos) implements Verdict {}

    /** So many nodes failed that there was no quorum. */
    record NoQuorum(boolean permanent) implements Verdict {}

    private enum Phase {
        IDLE,
        ASKING,
        ENDED
    }

    private final String[] nodes;
    private final int quorum;
    private final long boundMicros;
    private final long quarantineMillis;

    private final @Nullable NodeReply[] votes;
    private final boolean[] late;
    private final long[] sentAtNanos;
    /** A node may keep the key or a request: it said yes, or has not answered everything. */
    private final boolean[] yes;

    private final boolean[] unknown;
    private final int[] outstanding;

    private Phase phase = Phase.IDLE;
    private boolean held;
    private long candidate;
    private int reserve;
    private int stale;
    private long highest;
    private long estimateMicros;

    /**
     * An owner token that was never sent.
     *
     * @param nodes their names, for people
     * @param boundMicros B: a floor further ahead of the clock is refused and never remembered
     * @param quarantineMillis how long a node that may have forgotten grants nothing, for messages
     */
    QuorumRound(List<String> nodes, long boundMicros, long quarantineMillis) {
        this.nodes = nodes.toArray(String[]::new);
        this.quorum = Quorum.majority(nodes.size());
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

    /** Whether it was ended, so that nothing may be proposed. */
    boolean isEnded() {
        return phase == Phase.ENDED;
    }

    /** Whether no answer is missing and no node may keep anything. */
    boolean isForgotten() {
        if (phase == Phase.ASKING || held) {
            return false;
        }
        for (int node = 0; node < nodes.length; node++) {
            if (mayKeep(node)) {
                return false;
            }
        }
        return true;
    }

    private boolean mayKeep(int node) {
        return yes[node] || unknown[node] || outstanding[node] > 0;
    }

    /** Takes in an event and says what to do, in this order. */
    List<Action> on(Event event) {
        List<Action> actions = new ArrayList<>(2);
        if (event instanceof Started started) {
            start(started, actions);
        } else if (event instanceof Voted voted) {
            voted(voted, actions);
        } else if (event instanceof Late tooLate) {
            late(tooLate, actions);
        } else if (phase != Phase.ENDED) {
            phase = Phase.ENDED;
            held = false;
        }
        return actions;
    }

    private void start(Started started, List<Action> actions) {
        if (phase != Phase.IDLE || started.candidate() <= highest) {
            throw new IllegalStateException(
                    "a round with ballot " + started.candidate() + " after " + highest + " while " + phase);
        }
        phase = Phase.ASKING;
        reserve = started.reserve();
        stale = 0;
        propose(started.candidate(), actions);
    }

    private void propose(long ballot, List<Action> actions) {
        candidate = ballot;
        highest = ballot + reserve - 1;
        Arrays.fill(votes, null);
        Arrays.fill(late, false);
        for (int node = 0; node < nodes.length; node++) {
            outstanding[node]++;
        }
        actions.add(new Propose(ballot));
    }

    private void late(Late event, List<Action> actions) {
        if (phase != Phase.ASKING || event.candidate() != candidate) {
            return;
        }
        for (int node = 0; node < nodes.length; node++) {
            late[node] = votes[node] == null;
        }
        decide(actions);
    }

    private void voted(Voted event, List<Action> actions) {
        int node = event.node();
        estimateMicros = Math.max(estimateMicros, event.estimateMicros());
        outstanding[node]--;
        NodeReply reply = event.reply();
        boolean isYes = reply instanceof NodeReply.Yes;
        yes[node] |= isYes;
        unknown[node] |= reply instanceof NodeReply.Failed failed && failed.kind() == FailureKind.UNKNOWN;
        unknown[node] |= reply instanceof NodeReply.Refused refused && refused.spent();
        if (phase == Phase.ENDED) {
            return;
        }
        if (isYes && held) {
            actions.add(new Confirm(node, event.sentAtNanos()));
        }
        if (phase == Phase.ASKING) {
            if (event.candidate() == candidate && votes[node] == null) {
                votes[node] = reply;
                late[node] = false;
                sentAtNanos[node] = event.sentAtNanos();
                decide(actions);
            }
        } else if (!held && (isYes || unknown[node])) {
            undo(actions);
        }
    }

    private void undo(List<Action> actions) {
        phase = Phase.ENDED;
        actions.add(new Undo());
    }

    private void decide(List<Action> actions) {
        Tally tally = tally();
        if (tally.yes >= quorum) {
            won(actions);
        } else if (tally.yes + tally.pending < quorum) {
            boolean again = tally.stale > 0
                    && stale < MAX_BALLOTS
                    && tally.yes + tally.stale + tally.pending >= quorum
                    && tally.floor < TokenRange.LIMIT - ((long) reserve << (stale + 2));
            if (again) {
                long lead = (long) reserve << stale;
                stale++;
                propose(Math.max(highest, Math.max(tally.floor, estimateMicros)) + lead, actions);
            } else {
                lost(tally, actions);
            }
        }
    }

    private static final class Tally {
        private int yes;
        private int pending;
        private int stale;
        private int held;
        private int queued;
        private int refused;
        private int permanent;
        private int failed;
        private long floor;
    }

    private Tally tally() {
        Tally tally = new Tally();
        for (int node = 0; node < nodes.length; node++) {
            NodeReply vote = votes[node];
            if (vote == null && !late[node]) {
                tally.pending++;
            } else if (vote instanceof NodeReply.Yes) {
                tally.yes++;
            } else if (vote instanceof NodeReply.Stale told) {
                if (estimateMicros > 0 && told.floor() > estimateMicros + boundMicros) {
                    tally.refused++;
                } else {
                    tally.stale++;
                    tally.floor = Math.max(tally.floor, told.floor());
                }
            } else if (vote instanceof NodeReply.Held other) {
                tally.held++;
                tally.queued += other.queued() ? 1 : 0;
            } else if (vote instanceof NodeReply.Refused
                    || vote instanceof NodeReply.Quarantined
                    || vote instanceof NodeReply.Unborn) {
                tally.refused++;
            } else {
                boolean permanent = vote instanceof NodeReply.OtherSet
                        || (vote instanceof NodeReply.Failed failed && failed.kind() == FailureKind.PERMANENT);
                tally.permanent += permanent ? 1 : 0;
                tally.failed++;
            }
        }
        return tally;
    }

    private void won(List<Action> actions) {
        List<Long> times = new ArrayList<>();
        for (int node = 0; node < nodes.length; node++) {
            if (votes[node] instanceof NodeReply.Yes) {
                times.add(sentAtNanos[node]);
            }
        }
        phase = Phase.IDLE;
        held = true;
        long sentAt = Quorum.latestReachedBy(quorum, times);
        actions.add(new Finish(new Won(TokenRange.of(candidate, reserve), sentAt)));
        for (int node = 0; node < nodes.length; node++) {
            if (votes[node] instanceof NodeReply.Yes) {
                actions.add(new Confirm(node, sentAtNanos[node]));
            }
        }
    }

    private void lost(Tally tally, List<Action> actions) {
        phase = Phase.IDLE;
        if (!held) {
            boolean left = false;
            for (int node = 0; node < nodes.length; node++) {
                left |= yes[node] || unknown[node] || late[node];
            }
            if (left) {
                undo(actions);
            }
        }
        actions.add(new Finish(verdict(tally)));
    }

    private Verdict verdict(Tally tally) {
        int n = nodes.length;
        if (n - tally.permanent < quorum) {
            return new NoQuorum(true);
        }
        boolean holds = n - tally.held < quorum;
        if (holds || (tally.held + tally.yes > 0 && n - tally.refused - tally.failed >= quorum)) {
            return new Contended(commonHolder(), holds, tally.queued);
        }
        if (tally.refused > 0 && n - tally.failed >= quorum) {
            long untilMillis = untilNanos(tally, quarantineMillis * 1_000_000) / 1_000_000 + 1;
            return new Refused(
                    "not for another " + untilMillis + " ms (" + reasons() + ")", untilNanos(tally, 10_000_000L));
        }
        return tally.stale > 0 && n - tally.failed - tally.refused >= quorum
                ? new Refused("every fencing token proposed was overtaken", 10_000_000L)
                : new NoQuorum(false);
    }

    private @Nullable Holder commonHolder() {
        Map<String, Integer> times = new HashMap<>();
        Holder most = null;
        for (NodeReply vote : votes) {
            if (vote instanceof NodeReply.Held other && other.holder() != null) {
                int count = times.merge(other.holder().id(), 1, Integer::sum);
                if (most == null || count > times.getOrDefault(most.id(), 0) || later(other.holder(), most)) {
                    most = other.holder();
                }
            }
        }
        return most;
    }

    /** Of one holder the answer with the longest time left: until then a quorum may be held. */
    private static boolean later(Holder holder, Holder most) {
        return holder.id().equals(most.id())
                && holder.remainingTtl() != null
                && most.remainingTtl() != null
                && holder.remainingTtl().compareTo(most.remainingTtl()) > 0;
    }

    private String reasons() {
        StringBuilder text = new StringBuilder();
        for (int node = 0; node < nodes.length; node++) {
            String why = refusal(votes[node]);
            if (why != null) {
                text.append(text.isEmpty() ? "" : "; ")
                        .append(nodes[node])
                        .append(": ")
                        .append(why);
            }
        }
        return text.toString();
    }

    private @Nullable String refusal(@Nullable NodeReply vote) {
        if (vote instanceof NodeReply.Refused refused) {
            return refused.reason();
        }
        if (vote instanceof NodeReply.Stale told) {
            return "its fence " + told.floor() + " is too far ahead of the clock to be believed";
        }
        if (vote instanceof NodeReply.Quarantined young) {
            return young.reason();
        }
        return vote instanceof NodeReply.Unborn ? NodeReply.Quarantined.inWords(quarantineMillis) : null;
    }

    /**
     * Until so many of the refusing nodes may grant that there can be a quorum.
     *
     * @param unbornNanos what to count for a node that has to be told its birth first
     */
    private long untilNanos(Tally tally, long unbornNanos) {
        List<Long> times = new ArrayList<>();
        for (NodeReply vote : votes) {
            if (vote instanceof NodeReply.Refused refused) {
                times.add(refused.retryNanos());
            } else if (vote instanceof NodeReply.Quarantined young) {
                times.add(young.leftNanos());
            } else if (vote instanceof NodeReply.Unborn) {
                times.add(unbornNanos);
            }
        }
        times.sort(null);
        int needed = quorum - (nodes.length - tally.refused - tally.failed);
        return times.isEmpty() ? 10_000_000L : times.get(Math.max(0, Math.min(times.size(), needed) - 1));
    }

    /** What each node said to the last ballot. */
    List<NodeVote> votes() {
        List<NodeVote> told = new ArrayList<>(nodes.length);
        for (int node = 0; node < nodes.length; node++) {
            told.add(Votes.of(nodes[node], votes[node]));
        }
        return told;
    }
}
