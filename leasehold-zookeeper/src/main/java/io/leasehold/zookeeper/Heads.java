package io.leasehold.zookeeper;

import io.leasehold.Holder;
import io.leasehold.spi.ForeignText;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;

/** Reads queues that may be anybody's: who stands at the head, and whose nodes carry an id. */
final class Heads {

    private final long tokenBase;

    Heads(long tokenBase) {
        this.tokenBase = tokenBase;
    }

    /** Who stands there, or empty if nobody does any more. */
    CompletableFuture<Optional<Holder>> holderOf(Session session, String path) {
        return session.read(path, false)
                .handle((node, error) -> {
                    if (error == null) {
                        return CompletableFuture.completedFuture(Optional.of(holder(node)));
                    }
                    return Failures.isMissing(error)
                            ? CompletableFuture.completedFuture(Optional.<Holder>empty())
                            : CompletableFuture.<Optional<Holder>>failedFuture(error);
                })
                .thenCompose(next -> next);
    }

    Holder holder(Session.Node node) {
        return new Holder(
                ForeignText.holderId(node.data()),
                null,
                OptionalLong.of(tokenBase + node.stat().getCzxid()),
                node.stat().getEphemeralOwner() == 0 ? Holder.Ends.NEVER : Holder.Ends.WITH_SESSION);
    }

    /**
     * Removes every node with this id.
     *
     * @return whether one of them stood at the head
     */
    CompletableFuture<Boolean> removeAll(Session session, String lockPath, String id) {
        return session.latestChildren(lockPath)
                .handle((children, error) -> {
                    if (error != null) {
                        return Failures.isMissing(error)
                                ? CompletableFuture.completedFuture(false)
                                : CompletableFuture.<Boolean>failedFuture(error);
                    }
                    List<String> queue = Znodes.inOrder(children);
                    CompletableFuture<Boolean> all = CompletableFuture.completedFuture(false);
                    for (int i = 0; i < queue.size(); i++) {
                        if (Znodes.belongsTo(queue.get(i), id)) {
                            boolean head = i == 0;
                            String path = lockPath + "/" + queue.get(i);
                            all = all.thenCompose(
                                    before -> delete(session, path).thenApply(gone -> before || (head && gone)));
                        }
                    }
                    return all;
                })
                .thenCompose(next -> next);
    }

    /** Whether it was there to be deleted. */
    CompletableFuture<Boolean> delete(Session session, String path) {
        return session.delete(path)
                .handle((nothing, error) -> {
                    if (error == null) {
                        return CompletableFuture.completedFuture(true);
                    }
                    return Failures.isMissing(error)
                            ? CompletableFuture.completedFuture(false)
                            : CompletableFuture.<Boolean>failedFuture(error);
                })
                .thenCompose(next -> next);
    }
}
