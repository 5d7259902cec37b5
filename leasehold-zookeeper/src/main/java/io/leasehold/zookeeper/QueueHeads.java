package io.leasehold.zookeeper;

import io.leasehold.Holder;
import io.leasehold.spi.toolkit.ForeignText;
import io.leasehold.spi.toolkit.InTurn;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;

/** Reads the queues of any client: the holder at the head, and the nodes that carry an id. */
final class QueueHeads {

    private final long tokenBase;

    QueueHeads(long tokenBase) {
        this.tokenBase = tokenBase;
    }

    /**
     * The nodes in the queue, in the order of arrival; empty if the lock has no node.
     *
     * @param latest whether to read the state that the leader has now; else the state of the member
     */
    CompletableFuture<List<String>> queueOf(Session session, String lockPath, boolean latest) {
        CompletableFuture<List<String>> children =
                latest ? session.latestChildren(lockPath) : session.children(lockPath);
        return unlessMissing(children.thenApply(Znodes::inOrder), List.of());
    }

    static <T> CompletableFuture<T> unlessMissing(CompletableFuture<T> asked, T missing) {
        return asked.exceptionallyCompose(error -> Failures.isMissing(error)
                ? CompletableFuture.completedFuture(missing)
                : CompletableFuture.failedFuture(error));
    }

    /** The holder with this node, or empty if the node is gone. */
    CompletableFuture<Optional<Holder>> holderOf(Session session, String path) {
        return unlessMissing(session.read(path, false).thenApply(node -> Optional.of(holder(node))), Optional.empty());
    }

    Holder holder(SessionCalls.Node node) {
        return new Holder(
                ForeignText.holderId(node.data()),
                null,
                OptionalLong.of(tokenBase + node.czxid()),
                node.session() == 0 ? Holder.Ends.NEVER : Holder.Ends.WITH_SESSION);
    }

    /**
     * Removes every node with this id.
     *
     * @return whether one of them stood at the head
     */
    CompletableFuture<Boolean> removeAll(Session session, String lockPath, String id) {
        return queueOf(session, lockPath, true).thenCompose(queue -> {
            List<String> own =
                    queue.stream().filter(node -> Znodes.belongsTo(node, id)).toList();
            return InTurn.any(
                    own,
                    node -> delete(session, lockPath + "/" + node)
                            .thenApply(deleted -> deleted && node.equals(queue.get(0))));
        });
    }

    /** Deletes a node; completes with whether it existed. */
    CompletableFuture<Boolean> delete(Session session, String path) {
        return unlessMissing(session.delete(path).thenApply(nothing -> true), false);
    }
}
