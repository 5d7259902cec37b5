package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.toolkit.EntryData;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The export of a holder: its key, in its place in the queue, gets the value of a ticket under a lease of the claim's
 * length. A late copy of the request changes nothing, because it requires the value of the holder.
 *
 * <p>Safe for use by any thread, if its calls do not overlap.
 */
final class KeyExport {

    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    private final EtcdCalls etcd;
    private final EtcdUri uri;
    private final AttemptKey own;
    private final Runnable done;
    /** The lease for the claim, which all copies of the request name: a copy does not begin the claim anew. */
    private volatile EtcdCalls.@Nullable Leased claim;

    /**
     * Creates the export of this key.
     *
     * @param done notes that the key is that of the ticket
     */
    KeyExport(EtcdCalls etcd, EtcdUri uri, AttemptKey own, Runnable done) {
        this.etcd = etcd;
        this.uri = uri;
        this.own = own;
        this.done = done;
    }

    /** The value of the key while it is kept for this ticket. The token of the exporter stays: it counts from there. */
    static EntryData ticket(OwnerToken ticket, String label, int generation) {
        return EntryData.takenOver(ticket, label, generation);
    }

    /** Carries out a request, in turn with the others of the place. */
    CompletableFuture<ExportReply> ask(ExportRequest request) {
        Long made = own.place().held();
        if (made == null) {
            return CompletableFuture.completedFuture(new ExportReply.NotOurs());
        }
        int generation = own.data().generation();
        if (generation == EntryData.MAX_GENERATION) {
            String message = "the lease on \"" + request.name() + "\" at " + uri + " was exported " + generation
                    + " times, and has no further fencing token: release it, and acquire the lock again";
            return CompletableFuture.completedFuture(
                    new ExportReply.Failed(FailureKind.PERMANENT, new UnsafeStoreException(message, null)));
        }
        ByteSequence to = ByteSequence.from(
                ticket(request.ticket(), request.holderId(), generation).bytes());
        return claim(request.claimNanos()).thenCompose(leased -> put(made, to, leased));
    }

    private CompletableFuture<EtcdCalls.Leased> claim(long claimNanos) {
        EtcdCalls.Leased known = claim;
        if (known != null) {
            return CompletableFuture.completedFuture(known);
        }
        long neededNanos = claimNanos + uri.electionTimeout().toNanos();
        return etcd.lease((neededNanos + NANOS_PER_SECOND - 1) / NANOS_PER_SECOND)
                .thenApply(leased -> {
                    claim = leased;
                    return leased;
                });
    }

    private CompletableFuture<ExportReply> put(long made, ByteSequence to, EtcdCalls.Leased leased) {
        return etcd.change(own.key(), made, own.value(), to, leased.id())
                .<ExportReply>thenApply(found -> {
                    boolean isKept = found.key()
                            .filter(key -> key.getCreateRevision() == made
                                    && key.getValue().equals(to))
                            .isPresent();
                    if (!isKept) {
                        return new ExportReply.NotOurs();
                    }
                    done.run();
                    return new ExportReply.Exported();
                })
                .exceptionallyCompose(error -> {
                    if (Failures.isLeaseGone(error)) {
                        claim = null; // The claim was over before the request arrived; the next copy begins another.
                    }
                    return CompletableFuture.failedFuture(error);
                });
    }
}
