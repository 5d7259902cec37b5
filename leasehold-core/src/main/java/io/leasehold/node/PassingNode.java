package io.leasehold.node;

import io.leasehold.Guarantees;
import io.leasehold.LockName;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.StoreOperations;
import io.leasehold.spi.StoreSignals;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Passes everything on to a node; a subclass checks, watches or breaks a verb. Thread-safe if the node is. */
public abstract class PassingNode implements LockNode {

    private final LockNode node;

    /** Over this node, which is closed with it. */
    public PassingNode(LockNode node) {
        this.node = node;
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
    public String part(LockName name) {
        return node.part(name);
    }

    @Override
    public CompletableFuture<NodeReply> probe(LockName name, long timeoutNanos) {
        return node.probe(name, timeoutNanos);
    }

    @Override
    public CompletableFuture<NodeReply> acquire(Ballot ballot) {
        return node.acquire(ballot);
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
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        return node.renew(batch);
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        return node.release(request);
    }

    @Override
    public StoreAdmin admin() {
        return node.admin();
    }

    @Override
    public StoreOperations operations() {
        return node.operations();
    }

    @Override
    public void close() {
        node.close();
    }
}
