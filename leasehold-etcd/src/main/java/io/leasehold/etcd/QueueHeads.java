package io.leasehold.etcd;

import io.etcd.jetcd.KeyValue;
import io.leasehold.Holder;
import io.leasehold.spi.toolkit.EntryData;
import io.leasehold.spi.toolkit.TokenBase;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Reads holders from keys that any client may have written. */
final class QueueHeads {

    private final EtcdCalls etcd;
    private final TokenBase tokens;

    QueueHeads(EtcdCalls etcd, TokenBase tokens) {
        this.etcd = etcd;
        this.tokens = tokens;
    }

    static EntryData data(KeyValue key) {
        return EntryData.read(key.getValue().getBytes());
    }

    /** Whether the key says that it is a reader's; every other key is a writer's. */
    static boolean isReader(KeyValue key) {
        return data(key).isReader();
    }

    /** The holder of the lock with this first key, without the remaining time. Readers are not told apart. */
    Holder holder(KeyValue first) {
        return isReader(first)
                ? new Holder(Holder.READERS, null, OptionalLong.empty(), Holder.Ends.BY_TTL)
                : one(first, null);
    }

    private Holder one(KeyValue key, @Nullable Duration left) {
        EntryData data = data(key);
        return new Holder(
                data.holderId(),
                left,
                OptionalLong.of(tokens.token(key.getCreateRevision(), data.generation())),
                key.getLease() == 0 ? Holder.Ends.NEVER : Holder.Ends.BY_TTL);
    }

    /** The holder that created this key, with the remaining time of its lease; empty if the lease has just ended. */
    CompletableFuture<Optional<Holder>> withTime(KeyValue key) {
        if (key.getLease() == 0) {
            return CompletableFuture.completedFuture(Optional.of(one(key, null)));
        }
        return etcd.remaining(key.getLease()).thenApply(left -> left.map(time -> one(key, time)));
    }
}
