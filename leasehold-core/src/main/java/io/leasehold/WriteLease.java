package io.leasehold;

import java.util.concurrent.CompletableFuture;

/** The exclusive lease of a {@link SharedLock}. */
public interface WriteLease extends Lease {

    /**
     * Ends this lease and returns a read lease in its place.
     *
     * <p><b>Guarantee.</b> No other client can hold the lock as a writer in between: in one step of the store, the reader
     * takes the place of the writer. The read lease has a larger fencing token, and readers that wait may hold the lock
     * from then on.
     *
     * <p>This handle has ended as soon as the method is called: {@link #isValid()} is false, renewals stop, and {@link
     * #release()} returns {@link ReleaseOutcome#DOWNGRADED}. Finish all writes under this lease before the call. Attempts
     * of this client that wait for the lock continue to wait, like those of other clients.
     *
     * <p><b>Errors.</b> The store's answer is awaited until the validity of this lease is over, and the request is
     * repeated until then. The call does not react to interruption; the interrupt flag is left unchanged.
     *
     * @return the read lease, with the options of this lease
     * @throws UnsafeStoreException if the store does not keep readers; this lease is still held
     * @throws IllegalStateException if this lease was released, exported or downgraded
     * @throws LeaseLostException if this lease has ended
     * @throws AmbiguousAcquireException if the store has not answered in time: neither lease is held, and the lock is
     *     released in the background
     */
    Lease downgrade();

    /**
     * Like {@link #downgrade}, without waiting; completes exceptionally in the same cases, on a callback thread. A read
     * lease that arrives after the future was cancelled is released.
     */
    CompletableFuture<Lease> downgradeAsync();
}
