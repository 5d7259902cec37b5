package io.leasehold.etcd;

import io.etcd.jetcd.KeyValue;
import io.leasehold.Holder;
import io.leasehold.spi.toolkit.ForeignText;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Reads what others wrote: who holds. */
final class QueueHeads {

    private final EtcdCalls etcd;
    private final long tokenBase;

    QueueHeads(EtcdCalls etcd, long tokenBase) {
        this.etcd = etcd;
        this.tokenBase = tokenBase;
    }

    /** The holder that made that key; how much is left of its lease is not asked. */
    Holder holder(KeyValue first) {
        return holder(first, null);
    }

    private Holder holder(KeyValue first, @Nullable Duration left) {
        return new Holder(
                ForeignText.holderId(first.getValue().getBytes()),
                left,
                OptionalLong.of(tokenBase + first.getCreateRevision()),
                first.getLease() == 0 ? Holder.Ends.NEVER : Holder.Ends.BY_TTL);
    }

    /** The holder that made that key, and how much is left of its lease; empty if that has just ended. */
    CompletableFuture<Optional<Holder>> withTime(KeyValue first) {
        if (first.getLease() == 0) {
            return CompletableFuture.completedFuture(Optional.of(holder(first)));
        }
        return etcd.remaining(first.getLease()).thenApply(left -> left.map(time -> holder(first, time)));
    }
}
