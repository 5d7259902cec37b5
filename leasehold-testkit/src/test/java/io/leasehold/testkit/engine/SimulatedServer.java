package io.leasehold.testkit.engine;

import io.leasehold.Guarantees;
import io.leasehold.LockName;
import io.leasehold.Waiter;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.spi.Ballot;
import io.leasehold.spi.Birth;
import io.leasehold.spi.LockNode;
import io.leasehold.spi.LockRecord;
import io.leasehold.spi.Membership;
import io.leasehold.spi.NodeReply;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** A server of a quorum: it can forget everything while its connections stay, and notices grants to ended owner tokens. */
final class SimulatedServer implements LockNode {

    final VirtualRuntime host;
    private final UnaryOperator<LockNode> variant;
    private final List<StoreSignals> listeners = new ArrayList<>();
    private final Set<OwnerToken> ended = new HashSet<>();
    final List<String> zombies = new ArrayList<>();
    private LockNode node;

    SimulatedServer(VirtualRuntime host, UnaryOperator<LockNode> variant) {
        this.host = host;
        this.variant = variant;
        this.node = variant.apply(new InMemoryNode(host));
    }

    /** An empty restart behind a proxy, FLUSHALL and a full copy from an empty node in one. */
    void forget() {
        node = variant.apply(new InMemoryNode(host));
        listeners.forEach(node::listen);
        ended.clear();
    }

    @Override
    public CompletableFuture<NodeReply> acquire(Ballot ballot, Membership membership) {
        return node.acquire(ballot, membership).thenApply(reply -> {
            if (reply instanceof NodeReply.Yes
                    && ended.contains(ballot.request().owner())) {
                zombies.add("zombie: an ended owner token was granted "
                        + ballot.request().names() + " by " + host.name() + " at "
                        + host.world().elapsed());
            }
            return reply;
        });
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        ended.add(request.owner());
        return node.release(request);
    }

    @Override
    public CompletableFuture<NodeReply> birth(Birth birth) {
        return node.birth(birth);
    }

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        return node.renew(batch);
    }

    @Override
    public CompletableFuture<NodeReply> probe(long timeoutNanos) {
        return node.probe(timeoutNanos);
    }

    @Override
    public CompletableFuture<NodeReply> acquire(Ballot ballot) {
        return node.acquire(ballot);
    }

    @Override
    public String description() {
        return host.name();
    }

    @Override
    public Guarantees guarantees() {
        return node.guarantees();
    }

    @Override
    public void listen(StoreSignals signals) {
        listeners.add(signals);
        node.listen(signals);
    }

    @Override
    public CompletableFuture<Optional<LockRecord>> describe(LockName name) {
        return node.describe(name);
    }

    @Override
    public CompletableFuture<List<LockRecord>> list(String glob, int limit) {
        return node.list(glob, limit);
    }

    @Override
    public CompletableFuture<List<Waiter>> waiters(LockName name, int limit) {
        return node.waiters(name, limit);
    }

    @Override
    public CompletableFuture<Boolean> forceRelease(LockName name, @Nullable String holderId) {
        return node.forceRelease(name, holderId);
    }

    @Override
    public void close() {
        node.close();
    }
}
