package io.leasehold.quorum;

import io.leasehold.node.NodeReply;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Decides which nodes receive their birth, that is, the time since when they have kept their data. This takes two
 * steps, since a request that was in flight while the node lost its state carries an older clock. Pure: the shell reads
 * the clocks of all nodes when this class requires it.
 *
 * <p>The birth is the clock of the set, read at a quorum of nodes <em>after</em> the node had named its life; the node
 * accepts it only for that life. A client sends births only if a quorum of nodes knows its configuration or has none
 * yet.
 */
final class BirthMarkers {

    private enum Standing {
        UNKNOWN,
        OURS,
        UNBORN,
        OTHER
    }

    /** A birth for one life of one node. */
    record BirthToSend(int node, String nonce, long bornMicros) {}

    private final Standing[] standings;
    /** The lives that wait for a birth, by node. */
    private final Map<Integer, String> waiting = new HashMap<>();
    /** The lives for which the clocks are being read. */
    private Map<Integer, String> sampling = Map.of();

    BirthMarkers(int nodes) {
        this.standings = new Standing[nodes];
        Arrays.fill(standings, Standing.UNKNOWN);
    }

    /**
     * Processes a node's answer to a ballot.
     *
     * @return whether to read the clocks of all nodes now
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
        return sampling.isEmpty() && sampleAgain();
    }

    /** Whether to sample the clocks now for all lives that wait; called when the births of the last sample are known. */
    boolean sampleAgain() {
        sampling = !waiting.isEmpty() && mayAnnounceBirths() ? new HashMap<>(waiting) : Map.of();
        if (!sampling.isEmpty()) {
            waiting.clear();
        }
        return !sampling.isEmpty();
    }

    private boolean mayAnnounceBirths() {
        List<Standing> all = List.of(standings);
        long known = all.stream().filter(one -> one != Standing.UNKNOWN).count();
        return !all.contains(Standing.OTHER) && known >= Quorum.majority(standings.length);
    }

    /** Notes that the clocks could not be sampled; the next vote starts again. */
    void failed() {
        sampling = Map.of();
    }

    /**
     * Processes the nodes' clocks. If a life receives no birth now, the next ballot finds it unborn.
     *
     * @return the births to send
     */
    List<BirthToSend> sampled(List<NodeReply> replies) {
        List<Long> clocks = replies.stream()
                .filter(NodeReply.Answered.class::isInstance)
                .map(reply -> ((NodeReply.Answered) reply).serverMicros())
                .toList();
        List<BirthToSend> births = new ArrayList<>();
        if (clocks.size() >= Quorum.majority(standings.length)) {
            long born = Quorum.upperMedian(clocks);
            sampling.forEach((node, nonce) -> births.add(new BirthToSend(node, nonce, born)));
        }
        return births;
    }
}
