package io.leasehold.quorum;

import io.leasehold.LockName;
import io.leasehold.spi.LockRecord;
import io.leasehold.spi.StoreAdmin;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Asks every node of a set; a lock is held if a quorum says so. */
final class QuorumAdmin implements StoreAdmin {

    private final NodeSet nodes;
    private final long timeoutNanos;

    QuorumAdmin(NodeSet nodes, long timeoutNanos) {
        this.nodes = nodes;
        this.timeoutNanos = timeoutNanos;
    }

    @Override
    public CompletableFuture<Optional<LockRecord>> describe(LockName name) {
        return NodeAnswers.gather(nodes, node -> node.admin().describe(name), timeoutNanos)
                .thenApply(answers -> NodeAnswers.heldByQuorum(answers, nodes.quorum()));
    }

    @Override
    public CompletableFuture<List<LockRecord>> list(String glob, int limit) {
        return NodeAnswers.gather(nodes, node -> node.admin().list(glob, limit), timeoutNanos)
                .thenApply(answers -> NodeAnswers.merge(answers, nodes.quorum(), limit));
    }

    @Override
    public CompletableFuture<Boolean> forceRelease(LockName name, @Nullable String holderId) {
        return NodeAnswers.gather(nodes, node -> node.admin().forceRelease(name, holderId), timeoutNanos)
                .thenApply(answers -> answers.contains(true));
    }
}
