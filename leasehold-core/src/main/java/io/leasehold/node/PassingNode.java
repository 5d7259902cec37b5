package io.leasehold.node;

import io.leasehold.LockName;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.PassingKeeper;
import io.leasehold.spi.StoreSignals;
import java.util.concurrent.CompletableFuture;

/** Delegates every operation to another node; a subclass checks, observes or breaks one. Thread-safe if the node is. */
public abstract class PassingNode extends PassingKeeper implements LockNode {

    private final LockNode node;

    /** Creates a delegate of this node, which it closes. */
    public PassingNode(LockNode node) {
        super(node);
        this.node = node;
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
    public CompletableFuture<NodeReply> resume(Ballot ballot, OwnerToken ticket) {
        return node.resume(ballot, ticket);
    }

    @Override
    public CompletableFuture<NodeReply> resume(Ballot ballot, OwnerToken ticket, Resume step, Membership membership) {
        return node.resume(ballot, ticket, step, membership);
    }

    @Override
    public CompletableFuture<NodeReply> downgrade(Ballot ballot, OwnerToken writer) {
        return node.downgrade(ballot, writer);
    }

    @Override
    public CompletableFuture<NodeReply> downgrade(Ballot ballot, OwnerToken writer, Membership membership) {
        return node.downgrade(ballot, writer, membership);
    }

    @Override
    public CompletableFuture<NodeReply> birth(Birth birth) {
        return node.birth(birth);
    }
}
