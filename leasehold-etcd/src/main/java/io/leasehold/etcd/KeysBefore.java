package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The keys before a key in its queue that count: for a writer, all; for a reader, those of writers. A key that
 * stood before another and is gone, or has become that of a reader, is so forever. So pages that are read one after the
 * other never let a reader hold too early.
 *
 * <p>Immutable; safe for use by any thread.
 */
final class KeysBefore {

    private final EtcdCalls etcd;
    private final ByteSequence queue;
    private final boolean isReader;

    /** Creates the rule for a reader or a writer in this queue. */
    KeysBefore(EtcdCalls etcd, ByteSequence queue, boolean isReader) {
        this.etcd = etcd;
        this.queue = queue;
        this.isReader = isReader;
    }

    /** The number of the first keys that a read of the queue should return. */
    int most() {
        return isReader ? EtcdQueues.PAGE : 1;
    }

    /**
     * The key before this one that keeps it from holding: for a reader, the last one of a writer; for a writer, the first
     * key of all.
     *
     * @param made the create revision of the own key
     * @param front the first keys of the queue, which were read after the own key was created
     */
    CompletableFuture<Optional<KeyValue>> blocking(long made, List<KeyValue> front) {
        if (isReader) {
            return lastWriter(made, front, null);
        }
        return CompletableFuture.completedFuture(
                front.stream().findFirst().filter(first -> first.getCreateRevision() != made));
    }

    /** The first key of the queue, if a new key would not hold. */
    CompletableFuture<Optional<KeyValue>> busy() {
        return isReader
                ? etcd.inOrder(queue, EtcdQueues.PAGE, 0)
                        .thenCompose(front -> lastWriter(Long.MAX_VALUE, front, null)
                                .thenApply(writer -> writer.map(any -> front.get(0))))
                : etcd.first(queue);
    }

    private CompletableFuture<Optional<KeyValue>> lastWriter(long made, List<KeyValue> page, @Nullable KeyValue last) {
        KeyValue found = last;
        for (KeyValue one : page) {
            if (one.getCreateRevision() >= made) {
                return CompletableFuture.completedFuture(Optional.ofNullable(found));
            }
            found = QueueHeads.isReader(one) ? found : one;
        }
        if (page.size() < EtcdQueues.PAGE) {
            return CompletableFuture.completedFuture(Optional.ofNullable(found));
        }
        KeyValue lastSoFar = found;
        return etcd.inOrder(queue, EtcdQueues.PAGE, page.get(page.size() - 1).getCreateRevision() + 1)
                .thenCompose(next -> lastWriter(made, next, lastSoFar));
    }
}
