package io.leasehold.quorum;

import io.leasehold.node.NodeReply;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Decides which nodes are told since when they remember: in two steps, since a request that was under way while the node
 * forgot carries a clock from before that. Pure: a question to all nodes for their clocks is sent when this says so.
 *
 * <p>The birth is the clock of the set, read at a quorum of nodes <em>after</em> the node had named its life; the node takes
 * it only for that very life. Only a client does so whose configuration a quorum of nodes knows, or that no node was told yet.
 */
final class BirthMarkers {

    private enum Standing {
        UNKNOWN,
        OURS,
        UNBORN,
        OTHER
    }

    /** A node is to be told this birth of this life. */
    record Told(int node, String nonce, long bornMicros) {}

    private final Standing[] standings;
    /** The lives that wait for their birth, by node. */
    private final Map<Integer, String> waiting = new HashMap<>();
    /** Those of them for which the clocks are being read. */
    private Map<Integer, String> asking = Map.of();

    BirthMarkers(int nodes) {
        this.standings = new Standing[nodes];
        Arrays.fill(standings, Standing.UNKNOWN);
    }

    /**
     * A node has answered a ballot.
     *
     * @return whether all nodes are to be asked for their clocks now
     */
    boolean answered(int node, NodeReply reply) {
        if (reply instanceof NodeReply.Unborn unborn) {
            standings[node] = Standing.UNBORN;
            waiting.put(node, unborn.nonce());
        } else if (reply instanceof NodeReply.OtherSet) {
            standings[node] = Standing.OTHER;
        } else if (reply instanceof NodeReply.Answered) {
            standings[node] = Standing.OURS;
            waiting.remove(node);
        }
        return asking.isEmpty() && asks();
    }

    /** Whether clocks are asked for, for all lives that wait: one question at a time. */
    private boolean asks() {
        asking = mayTell() ? new HashMap<>(waiting) : Map.of();
        if (!asking.isEmpty()) {
            waiting.clear();
        }
        return !asking.isEmpty();
    }

    private boolean mayTell() {
        List<Standing> all = List.of(standings);
        long known = all.stream().filter(one -> one != Standing.UNKNOWN).count();
        return !all.contains(Standing.OTHER) && known >= Quorum.majority(standings.length);
    }

    /** The clocks could not be asked for: the next vote asks again. */
    void failed() {
        asking = Map.of();
    }

    /**
     * The nodes have answered with their clocks. A life that is not told now is found unborn by the next ballot.
     *
     * @return what nodes are told
     */
    List<Told> sampled(List<NodeReply> replies) {
        List<Long> clocks = new ArrayList<>();
        for (NodeReply reply : replies) {
            if (reply instanceof NodeReply.Answered answered) {
                clocks.add(answered.serverMicros());
            }
        }
        List<Told> told = new ArrayList<>();
        if (clocks.size() >= Quorum.majority(standings.length)) {
            long born = Quorum.upperMedian(clocks);
            asking.forEach((node, nonce) -> told.add(new Told(node, nonce, born)));
        }
        return told;
    }

    /** What was to be told was sent: whether the clocks are to be asked for again, for lives that were named meanwhile. */
    boolean asksAgain() {
        return asks();
    }
}
