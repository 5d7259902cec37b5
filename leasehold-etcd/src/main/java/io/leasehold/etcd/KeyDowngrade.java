package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.toolkit.EntryData;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * The downgrade of a holder: its key becomes that of a reader, in its place and under its lease. A late copy of the
 * request changes nothing, because it requires the value of the writer.
 *
 * <p>Safe for use by any thread, if its calls do not overlap.
 */
final class KeyDowngrade {

    private final EtcdCalls etcd;
    private final AttemptKey own;
    private final HeldKey held;
    private final Runnable gone;
    private final Function<AcquireRequest, AcquireReply> done;

    /**
     * Creates the downgrade of this key.
     *
     * @param gone notes that the key is gone
     * @param done notes that the key is that of the reader of this request, and answers it
     */
    KeyDowngrade(
            EtcdCalls etcd, AttemptKey own, HeldKey held, Runnable gone, Function<AcquireRequest, AcquireReply> done) {
        this.etcd = etcd;
        this.own = own;
        this.held = held;
        this.gone = gone;
        this.done = done;
    }

    /** Carries out a request, in turn with the others of the place. */
    CompletableFuture<AcquireReply> ask(AcquireRequest request) {
        Long made = own.place().held();
        EntryData data = own.data();
        if (made == null || (data.isReader() && !data.isReader(request.owner()))) {
            return CompletableFuture.completedFuture(lost());
        }
        if (!data.isReader() && data.generation() == EntryData.MAX_GENERATION) {
            String message = "the lease on \"" + request.name() + "\" was exported " + EntryData.MAX_GENERATION
                    + " times, and has no further fencing token for a reader";
            return CompletableFuture.completedFuture(
                    new AcquireReply.Failed(FailureKind.PERMANENT, new UnsafeStoreException(message, null), 0));
        }
        // While the key may be under either of two leases, nothing is known of its end.
        return held.settle(made, request.ttlNanos())
                .thenCompose(settled -> settled ? change(request, made) : CompletableFuture.completedFuture(lost()));
    }

    private CompletableFuture<AcquireReply> change(AcquireRequest request, long made) {
        EtcdCalls.Leased leased = own.lease().current();
        if (leased == null) {
            return CompletableFuture.completedFuture(lost());
        }
        EntryData next =
                own.data().isReader() ? own.data() : own.data().downgradedTo(request.owner(), request.holderId());
        ByteSequence to = ByteSequence.from(next.bytes());
        CompletableFuture<Boolean> extended = own.lease().extend();
        return own.lease()
                .putting(() -> etcd.change(own.key(), made, own.value(), to, leased.id()))
                .thenCombine(extended, (found, there) -> {
                    Optional<KeyValue> key = found.key().filter(one -> one.getCreateRevision() == made);
                    if (!there || key.isEmpty()) {
                        gone.run();
                        return lost();
                    }
                    if (!key.get().getValue().equals(to)) {
                        return lost(); // Another program has written to it; the store removes it after its ttl.
                    }
                    held.seenAt(found.revision());
                    own.become(next);
                    return done.apply(request);
                })
                .exceptionallyCompose(error -> {
                    if (!Failures.isLeaseGone(error)) {
                        return CompletableFuture.failedFuture(error);
                    }
                    gone.run();
                    return CompletableFuture.completedFuture(lost());
                });
    }

    private static AcquireReply lost() {
        return new AcquireReply.Busy(null, 0, List.of());
    }
}
