package io.leasehold.zookeeper;

import io.leasehold.Holder;
import io.leasehold.spi.toolkit.EntryData;
import io.leasehold.spi.toolkit.InTurn;
import io.leasehold.spi.toolkit.TokenBase;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;

/** Reads the queues of any client: the holder at the head, and the nodes that carry an id. */
final class QueueHeads {

    private final TokenBase tokens;

    QueueHeads(TokenBase tokens) {
        this.tokens = tokens;
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

    static EntryData data(SessionCalls.Node node) {
        return EntryData.read(node.data());
    }

    /** Whether the node says that it is a reader's; every other node is a writer's. */
    static boolean isReader(SessionCalls.Node node) {
        return data(node).isReader();
    }

    /** The node with this path, or empty if it is gone. */
    CompletableFuture<Optional<SessionCalls.Node>> entryOf(Session session, String path) {
        return unlessMissing(session.read(path, false).thenApply(Optional::of), Optional.empty());
    }

    /** The holder of the lock with this first node, or empty if the node is gone. Readers are not told apart. */
    CompletableFuture<Optional<Holder>> holderOf(Session session, String path) {
        return entryOf(session, path).thenApply(found -> found.map(this::holder));
    }

    /** The holder of the lock with this first node. Readers are not told apart. */
    Holder holder(SessionCalls.Node node) {
        return isReader(node)
                ? new Holder(Holder.READERS, null, OptionalLong.empty(), Holder.Ends.WITH_SESSION)
                : one(node);
    }

    /** The client with this node. */
    Holder one(SessionCalls.Node node) {
        EntryData data = data(node);
        return new Holder(
                data.holderId(),
                null,
                OptionalLong.of(tokens.token(node.czxid(), data.generation())),
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
