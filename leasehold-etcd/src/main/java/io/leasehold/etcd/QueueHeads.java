package io.leasehold.etcd;

import io.etcd.jetcd.KeyValue;
import io.leasehold.Holder;
import io.leasehold.spi.toolkit.ForeignText;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Reads the holder from a key that any client may have written. */
final class QueueHeads {

    private final EtcdCalls etcd;
    private final long tokenBase;

    QueueHeads(EtcdCalls etcd, long tokenBase) {
        this.etcd = etcd;
        this.tokenBase = tokenBase;
    }

    /** The holder that created this key, without the remaining time of its lease. */
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

    /** The holder that created this key, with the remaining time of its lease; empty if the lease has just ended. */
    CompletableFuture<Optional<Holder>> withTime(KeyValue first) {
        if (first.getLease() == 0) {
            return CompletableFuture.completedFuture(Optional.of(holder(first)));
        }
        return etcd.remaining(first.getLease()).thenApply(left -> left.map(time -> holder(first, time)));
    }
}
