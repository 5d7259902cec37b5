package io.leasehold.quorum;

import io.leasehold.Holder;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.FailureKind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The count of the votes on one ballot, and the verdict on its round. Pure. */
final class VoteTally {

    /** The delay before a retry if no node reports the duration of its refusal. */
    private static final long RETRY_NANOS = 10_000_000L;

    private static final String OVERTAKEN = "every fencing token proposed was overtaken";

    private final List<String> nodes;
    private final @Nullable NodeReply[] votes;
    private final int quorum;
    private final long quarantineMillis;
    private int yes;
    private int pending;
    private int stale;
    private int held;
    private int queued;
    /** The nodes that answered as those whose lock is held, but named no holder. */
    private int free;

    private int refused;
    private int permanent;
    private int failed;
    private long floor;

    /**
     * Counts the votes.
     *
     * @param votes the votes by node; null for a node that has not answered
     * @param late the nodes whose time limit has passed
     * @param estimateMicros the clock of the set, or zero
     * @param boundMicros the bound B: a floor further ahead of the clock is refused
     */
    VoteTally(
            List<String> nodes,
            @Nullable NodeReply[] votes,
            boolean[] late,
            long estimateMicros,
            long boundMicros,
            long quarantineMillis) {
        this.nodes = nodes;
        this.votes = votes;
        this.quorum = Quorum.majority(nodes.size());
        this.quarantineMillis = quarantineMillis;
        for (int node = 0; node < nodes.size(); node++) {
            NodeReply vote = votes[node];
            if (vote == null && !late[node]) {
                pending++;
            } else if (vote instanceof NodeReply.Stale told && !isBelieved(told.floor(), estimateMicros, boundMicros)) {
                refused++;
            } else {
                count(vote);
            }
        }
    }

    /**
     * Whether a floor is close enough to the clock of the set. A floor further ahead shows a wrong clock of its node: a
     * ballot above it would be beyond the bound at all other nodes.
     *
     * @param estimateMicros the clock of the set, or zero if it is unknown
     * @param boundMicros the bound B
     */
    static boolean isBelieved(long floor, long estimateMicros, long boundMicros) {
        return estimateMicros <= 0 || floor <= estimateMicros + boundMicros;
    }

    private void count(@Nullable NodeReply vote) {
        if (vote instanceof NodeReply.Yes) {
            yes++;
        } else if (vote instanceof NodeReply.Stale told) {
            stale++;
            floor = Math.max(floor, told.floor());
        } else if (vote instanceof NodeReply.Held other) {
            held++;
            free += other.holder() == null ? 1 : 0;
            queued += other.queued() ? 1 : 0;
        } else if (vote instanceof NodeReply.Refused
                || vote instanceof NodeReply.Quarantined
                || vote instanceof NodeReply.Unborn) {
            refused++;
        } else {
            failed++;
            boolean forGood = vote instanceof NodeReply.OtherSet
                    || (vote instanceof NodeReply.Failed failure && failure.kind() == FailureKind.PERMANENT);
            permanent += forGood ? 1 : 0;
        }
    }

    /** Whether a quorum has said yes. */
    boolean isWon() {
        return yes >= quorum;
    }

    /** Whether a quorum can no longer say yes to this ballot. */
    boolean isLost() {
        return yes + pending < quorum;
    }

    /** Whether a node may still answer in time. */
    boolean isPending() {
        return pending > 0;
    }

    /** Whether a quorum may say yes to a higher ballot. */
    boolean mayBeWonByAnotherBallot() {
        return stale > 0 && yes + stale + pending >= quorum;
    }

    /** The highest trusted floor. */
    long floor() {
        return floor;
    }

    /** The verdict on the round if no other ballot follows. */
    RoundVerdict verdict() {
        int n = nodes.size();
        if (n - permanent < quorum) {
            return new RoundVerdict.NoQuorum(true);
        }
        boolean holds = n - held < quorum;
        if (holds || (held + yes > 0 && n - refused - failed >= quorum)) {
            return new RoundVerdict.Contended(commonHolder(), holds, queued);
        }
        if (refused > 0 && n - failed >= quorum) {
            return notNow();
        }
        return stale > 0 && n - failed - refused >= quorum
                ? new RoundVerdict.Refused(OVERTAKEN, RETRY_NANOS)
                : new RoundVerdict.NoQuorum(false);
    }

    private RoundVerdict notNow() {
        long untilMillis = untilNanos(quarantineMillis * 1_000_000) / 1_000_000 + 1;
        return new RoundVerdict.Refused(
                "not for another " + untilMillis + " ms (" + reasons() + ")", untilNanos(RETRY_NANOS));
    }

    /** Whether a ticket has been used, or is over: enough nodes have nothing for it, or one claimant has a quorum. */
    boolean isUsedUp() {
        return nodes.size() - free < quorum || mostOfOneHolder() >= quorum;
    }

    /**
     * The verdict on a round for a ticket if no other ballot follows. Votes of other claimants alone prove nothing: these may
     * return them.
     */
    RoundVerdict verdictOnTicket() {
        if (nodes.size() - permanent < quorum) {
            return new RoundVerdict.NoQuorum(true);
        } else if (isUsedUp()) {
            return new RoundVerdict.Contended(commonHolder(), true, 0);
        } else if (held > free) {
            return new RoundVerdict.Contended(commonHolder(), false, 0);
        }
        boolean mayBeWonLater = nodes.size() - failed - free >= quorum;
        if (!mayBeWonLater || refused + stale == 0) {
            return new RoundVerdict.NoQuorum(false);
        }
        return refused > 0 ? notNow() : new RoundVerdict.Refused(OVERTAKEN, RETRY_NANOS);
    }

    private int mostOfOneHolder() {
        Map<String, Integer> times = new HashMap<>();
        for (NodeReply vote : votes) {
            if (vote instanceof NodeReply.Held other && other.holder() != null) {
                times.merge(other.holder().id(), 1, Integer::sum);
            }
        }
        return times.values().stream().mapToInt(Integer::intValue).max().orElse(0);
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

    /**
     * Prefers the answer with the longest remaining time for one holder, since until then the holder may have a quorum.
     */
    private static boolean later(Holder holder, Holder most) {
        return holder.id().equals(most.id())
                && holder.remainingTtl() != null
                && most.remainingTtl() != null
                && holder.remainingTtl().compareTo(most.remainingTtl()) > 0;
    }

    private String reasons() {
        List<String> reasons = new ArrayList<>();
        for (int node = 0; node < nodes.size(); node++) {
            String why = refusal(votes[node]);
            if (why != null) {
                reasons.add(nodes.get(node) + ": " + why);
            }
        }
        return String.join("; ", reasons);
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
     * The time until enough of the refusing nodes may grant for a quorum.
     *
     * @param unbornNanos the time for a node that must first receive its birth
     */
    private long untilNanos(long unbornNanos) {
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
        int needed = quorum - (nodes.size() - refused - failed);
        return times.isEmpty() ? RETRY_NANOS : times.get(Math.max(0, Math.min(times.size(), needed) - 1));
    }
}
