package io.leasehold.quorum;

import io.leasehold.LockListener.NodeChanged;
import io.leasehold.LockListener.NodeStanding;
import io.leasehold.node.NodeReply;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The standing of each node of a set, as its answers show; reports every change, in order.
 *
 * <p>It makes no decisions: the node (quarantine, configuration) and {@link NodeClocks} decide which votes count. All
 * code runs in its {@link SerialExecutor}.
 */
final class NodeStatuses {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    /** A standing with its reason. */
    private record StandingWithReason(NodeStanding standing, String detail) {}

    private static final StandingWithReason TRUSTED = new StandingWithReason(NodeStanding.TRUSTED, "");

    private final List<String> nodes;
    private final long quarantineMillis;
    private final SerialExecutor serial = new SerialExecutor();
    private final StandingWithReason[] connection;
    private final StandingWithReason[] memory;
    private final StandingWithReason[] clock;
    private final StandingWithReason[] told;
    private volatile Consumer<NodeChanged> listener = event -> {};

    NodeStatuses(List<String> nodes, long quarantineMillis) {
        this.nodes = nodes;
        this.quarantineMillis = quarantineMillis;
        this.connection = allTrusted(nodes.size());
        this.memory = allTrusted(nodes.size());
        this.clock = allTrusted(nodes.size());
        this.told = allTrusted(nodes.size());
    }

    private static StandingWithReason[] allTrusted(int count) {
        return Collections.nCopies(count, TRUSTED).toArray(StandingWithReason[]::new);
    }

    /** Registers a listener, and notifies it of every node that does not count as trusted already. */
    void listen(Consumer<NodeChanged> listener) {
        serial.run(() -> {
            this.listener = listener;
            for (int node = 0; node < nodes.size(); node++) {
                if (told[node].standing() != NodeStanding.TRUSTED) {
                    tell(node, NodeStanding.TRUSTED, told[node]);
                }
            }
        });
    }

    /**
     * Processes an answer or a failure of a node.
     *
     * @param ballot whether the request was a ballot; an answer to a request for the clock alone shows nothing about
     *     the node's memory
     * @param distrusted for each node the reason why its votes do not count, or null
     */
    void heard(int node, NodeReply reply, boolean ballot, @Nullable Distrust[] distrusted) {
        serial.run(() -> {
            connection[node] = reply instanceof NodeReply.Failed failed
                    ? new StandingWithReason(
                            NodeStanding.UNREACHABLE,
                            Objects.toString(failed.error().getMessage(), "failed"))
                    : TRUSTED;
            memory[node] = ballot && reply instanceof NodeReply.Answered ? memory(reply) : memory[node];
            for (int one = 0; one < nodes.size(); one++) {
                Distrust why = distrusted[one];
                clock[one] = why == null ? TRUSTED : new StandingWithReason(NodeStanding.EXCLUDED, why.text());
                update(one);
            }
        });
    }

    private StandingWithReason memory(NodeReply reply) {
        if (reply instanceof NodeReply.OtherSet other) {
            return new StandingWithReason(NodeStanding.OTHER_CONFIGURATION, "is a member of " + other.configuration());
        } else if (reply instanceof NodeReply.Unborn) {
            return new StandingWithReason(NodeStanding.QUARANTINED, NodeReply.Quarantined.inWords(quarantineMillis));
        } else if (reply instanceof NodeReply.Quarantined young) {
            return new StandingWithReason(NodeStanding.QUARANTINED, young.reason());
        }
        return TRUSTED;
    }

    private void update(int node) {
        StandingWithReason now = firstDoubt(connection[node], firstDoubt(memory[node], clock[node]));
        NodeStanding before = told[node].standing();
        told[node] = now;
        if (before != now.standing()) {
            log(nodes.get(node), before, now);
            tell(node, before, now);
        }
    }

    private static StandingWithReason firstDoubt(StandingWithReason one, StandingWithReason next) {
        return one.standing() == NodeStanding.TRUSTED ? next : one;
    }

    private void tell(int node, NodeStanding before, StandingWithReason now) {
        listener.accept(new NodeChanged(nodes.get(node), before, now.standing(), now.detail()));
    }

    private static void log(String node, NodeStanding before, StandingWithReason now) {
        if (now.standing() == NodeStanding.UNREACHABLE || before == NodeStanding.UNREACHABLE) {
            LOG.debug("{}: {} -> {} {}", node, before, now.standing(), now.detail());
        } else if (now.standing() == NodeStanding.TRUSTED) {
            LOG.info("{} counts again", node);
        }
        if (now.standing() != NodeStanding.UNREACHABLE && now.standing() != NodeStanding.TRUSTED) {
            LOG.warn("{} does not count: {}", node, now.detail());
        }
    }
}
