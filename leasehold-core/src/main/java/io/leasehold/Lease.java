package io.leasehold;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * A held lock with a fencing token, as one caller sees it.
 *
 * <p>Pass the {@link #fencingToken()} to the guarded resource at first contact, including reads: a
 * resource that refuses tokens smaller than the largest it has seen loses no acknowledged update,
 * however long this process was paused.
 */
public interface Lease extends Hold {

    /** The lock that is held. */
    LockName lockName();

    /**
     * A positive number below 2<sup>53</sup>, larger than that of every earlier lease of the same
     * lock (as far as {@link Guarantees#fencing()} promises). It never changes during a lease.
     */
    long fencingToken();

    /**
     * Ends this lease and returns a ticket with which {@linkplain LockClient#resume any process continues it}, once.
     *
     * <p><b>Guarantee.</b> No other client can hold the lock between the export and the resume: in one step of the
     * store, the ticket takes the place of the holder. The resumed lease has a larger fencing token. If the ticket is
     * not used within the claim, the lock is free. The claim may be shorter than the validity that was left; with {@link
     * LockOptions#atLeast(Duration)}, the claim is at least as long as that time still lasts. A resume ends that time: the
     * resumed lease has the options of its own client.
     *
     * <p>This handle has ended as soon as the method is called: {@link #isValid()} is false, renewals stop, and {@link
     * #release()} returns {@link ReleaseOutcome#EXPORTED}. Attempts of this client that wait for the lock continue to
     * wait, like those of other clients. A guarded resource refuses late writes under this lease <em>after its first
     * contact with the resumed lease</em>, not before: finish the work under this lease before the export.
     *
     * <p><b>Errors.</b> The store's confirmation is awaited until the validity is over, and the request is repeated
     * until then. The call does not react to interruption; the interrupt flag is left unchanged. It throws before it
     * changes anything if the arguments or the store are not suitable. An export that fails while {@link
     * LockOptions#atLeast(Duration)} still lasts leaves the lock taken until then, at most for the rest of its ttl.
     *
     * @param claim how long the store keeps the lock for the ticket, from now on; at least 1 ms and at most {@link
     *     LockClient#maxTtl()}
     * @return the ticket, which is a secret
     * @throws UnsafeStoreException if the store cannot keep a lock for a ticket, or this is a {@link Permit}; the lease
     *     is still held
     * @throws IllegalArgumentException if the claim is out of bounds; the lease is still held
     * @throws IllegalStateException if the lease was released or exported
     * @throws LeaseLostException if the lease has ended, or the store answered that it has, while nothing else could have
     *     ended it
     * @throws AmbiguousExportException if the store has not confirmed the export: no ticket exists, and the lock is
     *     released in the background
     */
    LeaseTicket export(Duration claim);

    /**
     * Like {@link #export}, without waiting; completes exceptionally in the same cases, on a callback thread. Cancelling
     * the future does not undo the export: the lock is then free after the claim.
     */
    CompletableFuture<LeaseTicket> exportAsync(Duration claim);
}
