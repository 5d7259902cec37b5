package io.leasehold.redis;

import io.leasehold.Guarantee;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.node.LockNode;
import io.leasehold.node.Membership;
import io.leasehold.quorum.QuorumMember;
import io.leasehold.quorum.QuorumSettings;
import io.leasehold.quorum.QuorumStore;
import io.leasehold.redis.node.DurabilityCheck;
import io.leasehold.redis.node.NodeSettings;
import io.leasehold.redis.node.VerifiedMember;
import io.leasehold.redis.store.NodeOpening;
import io.leasehold.redis.store.RedisGuarantees;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.topology.LettuceDrivers;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.toolkit.PermitsByLocks;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Opens the servers of a set, all at once. If a minority cannot be reached, the opening retries them in the background.
 */
final class RedlockOpening {

    private final LockRuntime runtime;
    /** The servers of the whole set, which share threads. */
    private final List<Deployment> servers;

    private final List<Opened> opened = new ArrayList<>();

    private RedlockOpening(List<RedlockUri.Node> nodes, LockRuntime runtime) {
        this.runtime = runtime;
        this.servers = nodes.stream().map(RedlockUri.Node::server).toList();
    }

    /** A node with its opening. */
    private record Opened(RedlockUri.Node node, NodeOpening opening) {}

    static LockStore open(List<RedlockUri.Node> nodes, QuorumSettings settings, LockRuntime runtime) {
        QuorumStore.refuseUnfit(nodes.stream().map(RedlockUri.Node::name).toList(), settings);
        RedlockOpening opening = new RedlockOpening(nodes, runtime);
        LockStore store = null;
        try {
            nodes.forEach(opening::connect);
            opening.await(CompletableFuture.allOf(
                    opening.opened.stream().map(one -> one.opening().outcome()).toArray(CompletableFuture<?>[]::new)));
            List<QuorumMember> members = new ArrayList<>();
            for (Opened one : opening.opened) {
                members.add(opening.member(one));
            }
            QuorumStore quorum = new QuorumStore(members, settings, runtime);
            store = quorum;
            opening.await(quorum.checkNodes(NodeOpening.OPEN_NANOS));
            return new PermitsByLocks(quorum, runtime);
        } catch (RuntimeException | Error e) {
            if (store != null) {
                store.close();
            } else {
                opening.opened.forEach(one -> one.opening().close());
            }
            throw e;
        }
    }

    private void connect(RedlockUri.Node node) {
        opened.add(new Opened(
                node, new NodeOpening(node.server(), LettuceDrivers.of(node.server(), servers, runtime), runtime)));
    }

    private QuorumMember member(Opened one) {
        RedlockUri.Node node = one.node();
        NodeOpening.Outcome outcome = one.opening().outcome().getNow(new NodeOpening.Outcome(false, Map.of(), null));
        DurabilityCheck found = outcome.weakest();
        if (found == null) {
            if (outcome.failure() instanceof LockStoreException refusal
                    && !(refusal instanceof StoreUnavailableException)) {
                throw refusal;
            }
        } else {
            String unfit = VerifiedMember.unfit(node.name(), node.durable(), found);
            if (unfit != null) {
                throw new UnsafeStoreException(unfit, null);
            }
        }
        if (!outcome.open()) {
            one.opening().keepTrying();
        }
        String evicting = found == null ? null : found.evicting();
        NodeOpening.warnOfEviction(node.name(), found);
        NodeSettings settings =
                NodeSettings.ofMember(RedisGuarantees.single(node.durable())).checking(node.lifeCheck());
        boolean failsOver = node.server().kind() != Deployment.Kind.SINGLE;
        LockNode member = new VerifiedMember(
                one.opening().node(settings),
                node.name(),
                node.durable(),
                evicting != null || failsOver,
                outcome.found(),
                one.opening()::look,
                runtime);
        return new QuorumMember(
                member,
                node.name(),
                node.durable() ? Membership.Persistence.DURABLE : Membership.Persistence.VOLATILE,
                evicting != null || failsOver ? Guarantee.Exclusion.BEST_EFFORT : Guarantee.Exclusion.WITHIN_DRIFT);
    }

    private void await(CompletableFuture<Void> future) {
        NodeOpening.await(future, runtime, "a set of nodes", limited -> limited.complete(null));
    }
}
