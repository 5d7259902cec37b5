package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * The swap of a ticket for a claimant: the key keeps its place in the queue, and gets the claimant's value under the
 * claimant's lease. It makes no key: a ticket whose key is gone is over. A late copy of the request changes nothing,
 * because it requires the value of the ticket.
 *
 * <p>Safe for use by any thread, if its calls do not overlap.
 */
final class KeyResume {

    private final EtcdCalls etcd;
    private final AttemptKey own;
    private final long made;
    private final ByteSequence from;

    /**
     * Creates the swap.
     *
     * @param own the claimant, with the key of the ticket
     * @param made the create revision of that key
     * @param from the value of that key when it was found
     */
    KeyResume(EtcdCalls etcd, AttemptKey own, long made, ByteSequence from) {
        this.etcd = etcd;
        this.own = own;
        this.made = made;
        this.from = from;
    }

    /**
     * The result of the swap.
     *
     * @param isOurs whether the claimant has the key, under its lease, which has just been granted or extended
     * @param revision the revision of the cluster at which the key was seen
     */
    record Swapped(boolean isOurs, long made, long revision) {}

    /** Carries out the swap, or finds that an earlier copy has done so. */
    CompletableFuture<Swapped> ask(long ttlNanos) {
        return lease(ttlNanos).thenCompose(done -> {
            EtcdCalls.Leased leased = own.lease().current();
            return leased == null ? CompletableFuture.completedFuture(notOurs()) : swap(leased);
        });
    }

    /** Extends the lease that an earlier copy names, or obtains one. */
    private CompletableFuture<?> lease(long ttlNanos) {
        return own.lease()
                .extend()
                .thenCompose(there -> there
                        ? CompletableFuture.completedFuture(false)
                        : own.lease().obtain(ttlNanos, true));
    }

    private CompletableFuture<Swapped> swap(EtcdCalls.Leased leased) {
        return own.lease()
                .putting(() -> etcd.change(own.key(), made, from, own.value(), leased.id()))
                .thenCompose(found -> {
                    Optional<KeyValue> ours = found.key()
                            .filter(key -> key.getCreateRevision() == made
                                    && key.getValue().equals(own.value()));
                    if (ours.isEmpty()) {
                        return CompletableFuture.completedFuture(notOurs());
                    }
                    if (ours.get().getLease() == leased.id()) {
                        return CompletableFuture.completedFuture(new Swapped(true, made, found.revision()));
                    }
                    own.lease().takeOver(ours.get().getLease());
                    return own.lease()
                            .extend()
                            .thenApply(there -> there ? new Swapped(true, made, found.revision()) : notOurs());
                })
                .exceptionallyCompose(error -> {
                    if (Failures.isLeaseGone(error)) {
                        own.lease().forget(leased.id());
                    }
                    return CompletableFuture.failedFuture(error);
                });
    }

    private static Swapped notOurs() {
        return new Swapped(false, 0, 0);
    }
}
