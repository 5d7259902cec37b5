package io.leasehold.zookeeper;

import io.leasehold.LockName;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.toolkit.InTurn;
import io.leasehold.spi.toolkit.PlainName;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * The queues of locks as any client sees them: the nodes that hold and wait, and those of owner tokens that this client
 * does not know.
 *
 * <p>Immutable; safe for use by any thread.
 */
final class NodeQueues {

    /** The number of nodes that are read at once. */
    private static final int AT_ONCE = 100;

    /** A node of a queue, as it was read. */
    record Entry(String name, SessionCalls.Node node) {
        boolean isReader() {
            return QueueHeads.isReader(node);
        }
    }

    /** The nodes that hold a lock, in their order, and the names of the others, which wait behind them. */
    record Holders(List<Entry> holding, List<String> waiting) {}

    private final ZooKeeperUri uri;
    private final QueueHeads heads;

    NodeQueues(ZooKeeperUri uri, QueueHeads heads) {
        this.uri = uri;
        this.heads = heads;
    }

    String lockPath(LockName name) {
        return uri.chroot() + "/" + PlainName.of(name);
    }

    // ---- the queue

    /** The nodes that hold: the first, or the first ones if these are readers'. A node that is just gone is left out. */
    CompletableFuture<Holders> holders(Session session, LockName name, boolean latest) {
        String lock = lockPath(name);
        return heads.queueOf(session, lock, latest)
                .thenCompose(queue -> holders(session, lock, queue, new ArrayList<>()));
    }

    private CompletableFuture<Holders> holders(Session session, String lock, List<String> left, List<Entry> found) {
        // Most locks have one holder: only behind a reader, further nodes are read.
        int part = Math.min(left.size(), found.isEmpty() ? 1 : AT_ONCE);
        if (part == 0) {
            return CompletableFuture.completedFuture(new Holders(found, List.of()));
        }
        return InTurn.some(left.subList(0, part), AT_ONCE, part, name -> entry(session, lock, name))
                .thenCompose(read -> {
                    for (Entry entry : read) {
                        if (!entry.isReader()) {
                            int at = left.indexOf(entry.name());
                            if (found.isEmpty()) {
                                found.add(entry);
                                at++;
                            }
                            return CompletableFuture.completedFuture(new Holders(found, left.subList(at, left.size())));
                        }
                        found.add(entry);
                    }
                    return holders(session, lock, left.subList(part, left.size()), found);
                });
    }

    private CompletableFuture<Optional<Entry>> entry(Session session, String lock, String name) {
        return heads.entryOf(session, lock + "/" + name).thenApply(found -> found.map(node -> new Entry(name, node)));
    }

    // ---- owners that this client does not know

    /** Removes the nodes of this owner token; completes with whether it held one of the locks. */
    CompletableFuture<Boolean> removeOwner(Session session, List<LockName> names, OwnerToken owner) {
        return InTurn.any(
                names,
                name -> uri.readers()
                        ? removeKind(session, name, owner)
                        : heads.removeAll(session, lockPath(name), owner.publicId()));
    }

    private CompletableFuture<Boolean> removeKind(Session session, LockName name, OwnerToken owner) {
        String lock = lockPath(name);
        return heads.queueOf(session, lock, true)
                .thenCompose(queue -> InTurn.some(queue, AT_ONCE, queue.size(), node -> entry(session, lock, node)))
                .thenCompose(queue -> InTurn.any(
                        queue.stream().filter(entry -> isOf(entry, name, owner)).toList(),
                        entry -> heads.delete(session, lock + "/" + entry.name())
                                .thenApply(deleted -> deleted && holds(entry, queue))));
    }

    /** Whether this owner token holds the lock, as the writer or the reader that the name says. */
    CompletableFuture<Boolean> holds(Session session, LockName name, OwnerToken owner) {
        if (uri.readers()) {
            return holders(session, name, true)
                    .thenApply(found -> found.holding().stream().anyMatch(entry -> isOf(entry, name, owner)));
        }
        return heads.queueOf(session, lockPath(name), true)
                .thenApply(queue -> !queue.isEmpty() && Znodes.belongsTo(queue.get(0), owner.publicId()));
    }

    private static boolean isOf(Entry entry, LockName name, OwnerToken owner) {
        return name.isRead()
                ? QueueHeads.data(entry.node()).isReader(owner)
                : !entry.isReader() && Znodes.belongsTo(entry.name(), owner.publicId());
    }

    private static boolean holds(Entry entry, List<Entry> queue) {
        return entry.isReader()
                ? queue.stream().takeWhile(Entry::isReader).anyMatch(entry::equals)
                : entry.equals(queue.get(0));
    }
}
