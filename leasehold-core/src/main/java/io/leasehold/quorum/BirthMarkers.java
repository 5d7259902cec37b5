package io.leasehold.quorum;

import io.leasehold.node.Birth;
import io.leasehold.node.NodeReply;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells nodes that do not know since when they remember: in two steps, since a request that was under way while the node
 * forgot carries a clock from before that.
 *
 * <p>The birth is the clock of the set, read at a quorum of nodes <em>after</em> the node had named its life; the node takes
 * it only for that very life. Only a client does so whose configuration a quorum of nodes knows, or nobody has told yet.
 * Guarded by itself.
 */
final class BirthMarkers {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    private enum Standing {
        UNKNOWN,
        OURS,
        UNBORN,
        OTHER
    }

    private final NodeSet nodes;
    private final Standing[] standings;
    /** The lives that wait for their birth, by node. */
    private final Map<Integer, String> nonces = new HashMap<>();

    private boolean asking;

    BirthMarkers(NodeSet nodes) {
        this.nodes = nodes;
        this.standings = new Standing[nodes.size()];
        java.util.Arrays.fill(standings, Standing.UNKNOWN);
    }

    /** A node has answered a ballot. */
    void answered(int node, NodeReply reply) {
        synchronized (this) {
            if (reply instanceof NodeReply.Unborn unborn) {
                standings[node] = Standing.UNBORN;
                nonces.put(node, unborn.nonce());
            } else if (reply instanceof NodeReply.OtherSet) {
                standings[node] = Standing.OTHER;
            } else if (reply instanceof NodeReply.Answered) {
                standings[node] = Standing.OURS;
                nonces.remove(node);
            }
            if (asking || nonces.isEmpty() || !mayTell()) {
                return;
            }
            asking = true;
        }
        askUnlessThatFails();
    }

    private void askUnlessThatFails() {
        try {
            ask();
        } catch (RuntimeException | Error e) {
            // No timer could be had: the vote counts all the same, and the next one asks again.
            LOG.error("nodes cannot be told their birth", e);
            synchronized (this) {
                asking = false;
            }
        }
    }

    private boolean mayTell() {
        int confirmed = 0;
        for (Standing standing : standings) {
            if (standing == Standing.OTHER) {
                return false;
            }
            confirmed += standing == Standing.UNKNOWN ? 0 : 1;
        }
        return confirmed >= nodes.quorum();
    }

    private void ask() {
        Map<Integer, String> lives;
        synchronized (this) {
            lives = new HashMap<>(nonces);
            nonces.clear();
        }
        long timeoutNanos =
                10 * nodes.settings().nodeTimeoutNanos(nodes.settings().maxTtl().toNanos());
        nodes.sample(timeoutNanos).thenAccept(replies -> {
            List<Long> clocks = new ArrayList<>();
            for (NodeReply reply : replies) {
                if (reply instanceof NodeReply.Answered answered) {
                    clocks.add(answered.serverMicros());
                }
            }
            if (clocks.size() >= nodes.quorum()) {
                long born = NodeClocks.upperMedian(clocks);
                lives.forEach((node, nonce) -> tell(node, new Birth(nonce, born, nodes.configuration(), timeoutNanos)));
            }
            // Whatever was not told is found unborn by the next ballot.
            boolean more;
            synchronized (this) {
                more = !nonces.isEmpty() && mayTell();
                asking = more;
            }
            if (more) {
                askUnlessThatFails();
            }
        });
    }

    private void tell(int node, Birth birth) {
        nodes.link(node)
                .ask(target -> target.birth(birth), NodeReply.Failed::new)
                .thenAccept(reply ->
                        LOG.debug("told {} its birth: {}", nodes.names().get(node), reply));
    }
}
