package io.leasehold.zookeeper;

import io.leasehold.spi.toolkit.InTurn;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The nodes before a node in its queue that count: for a writer, all; for a reader, those of writers. A node that stood
 * before another and is gone, or has become that of a reader, is so forever. So a member that lags behind never lets a
 * reader hold too early.
 *
 * <p>Immutable; safe for use by any thread.
 */
final class NodesBefore {

    /** The number of nodes that are read at once. */
    private static final int AT_ONCE = 100;

    /**
     * A queue, as one node of it sees it.
     *
     * @param ours the index of the own node; negative if it is not there
     * @param blocking the node to wait for; null if the own node holds
     */
    record View(List<String> queue, int ours, @Nullable String blocking) {}

    private final QueueHeads heads;
    private final String lockPath;
    private final boolean isReader;

    /** Creates the rule for a reader or a writer in the queue below this path. */
    NodesBefore(QueueHeads heads, String lockPath, boolean isReader) {
        this.heads = heads;
        this.lockPath = lockPath;
        this.isReader = isReader;
    }

    /** The queue as this node sees it. A reader reads the nodes before its own. */
    CompletableFuture<View> of(Session in, List<String> queue, String node) {
        int ours = queue.indexOf(node);
        if (ours <= 0 || !isReader) {
            return CompletableFuture.completedFuture(new View(queue, ours, ours <= 0 ? null : queue.get(ours - 1)));
        }
        return lastWriter(in, queue.subList(0, ours)).thenApply(writer -> new View(queue, ours, writer.orElse(null)));
    }

    /** Whether a new node behind this queue would not hold. */
    CompletableFuture<Boolean> isBusy(Session in, List<String> queue) {
        return isReader
                ? lastWriter(in, queue).thenApply(Optional::isPresent)
                : CompletableFuture.completedFuture(!queue.isEmpty());
    }

    private CompletableFuture<Optional<String>> lastWriter(Session in, List<String> nodes) {
        List<String> fromTheLast = new ArrayList<>(nodes);
        Collections.reverse(fromTheLast);
        return InTurn.some(
                        fromTheLast,
                        AT_ONCE,
                        1,
                        node -> heads.entryOf(in, lockPath + "/" + node)
                                .thenApply(found -> found.filter(entry -> !QueueHeads.isReader(entry))
                                        .map(entry -> node)))
                .thenApply(writers -> writers.stream().findFirst());
    }
}
