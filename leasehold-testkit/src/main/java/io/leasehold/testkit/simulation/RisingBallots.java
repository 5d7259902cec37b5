package io.leasehold.testkit.simulation;

import io.leasehold.Guarantees;
import io.leasehold.LockName;
import io.leasehold.Waiter;
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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** What one client sends: the ballots of an attempt strictly rise, and after its end nothing else is sent. */
final class RisingBallots implements LockNode {

    private final LockNode node;
    private final Simulation simulation;
    private final Map<OwnerToken, Long> highest = new HashMap<>();

    RisingBallots(LockNode node, Simulation simulation) {
        this.node = node;
        this.simulation = simulation;
    }

    @Override
    public CompletableFuture<NodeReply> acquire(Ballot ballot) {
        Long before = highest.put(ballot.request().owner(), ballot.tokens().last());
        if (before != null) {
            simulation.counts.saw("another ballot");
            if (ballot.candidate() <= before) {
                simulation.problem("ballot " + ballot.candidate() + " follows "
                        + (before == Long.MAX_VALUE ? "the end" : before) + " of one attempt at "
                        + simulation.world.elapsed());
            }
        }
        return node.acquire(ballot);
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        highest.put(request.owner(), Long.MAX_VALUE);
        return node.release(request);
    }

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        for (RenewBatch.Item item : batch.items()) {
            if (highest.getOrDefault(item.owner(), 0L) == Long.MAX_VALUE) {
                simulation.problem("a renewal follows the end of its owner token at " + simulation.world.elapsed());
            }
        }
        return node.renew(batch);
    }

    @Override
    public String description() {
        return node.description();
    }

    @Override
    public Guarantees guarantees() {
        return node.guarantees();
    }

    @Override
    public boolean isAtomicOver(List<LockName> names) {
        return node.isAtomicOver(names);
    }

    @Override
    public void listen(StoreSignals signals) {
        node.listen(signals);
    }

    @Override
    public void unlisten(StoreSignals signals) {
        node.unlisten(signals);
    }

    @Override
    public CompletableFuture<NodeReply> probe(long timeoutNanos) {
        return node.probe(timeoutNanos);
    }

    @Override
    public CompletableFuture<NodeReply> acquire(Ballot ballot, Membership membership) {
        return node.acquire(ballot, membership);
    }

    @Override
    public CompletableFuture<NodeReply> birth(Birth birth) {
        return node.birth(birth);
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
