package io.leasehold;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** One of the {@link Permits} of a name, as one caller holds it: a lease on a numbered slot. */
public interface Permit extends Lease {

    /**
     * The number of the slot, from 0 to {@link Permits#count()} − 1. While this permit is valid, no other valid permit
     * of the name has the same number: use it as a worker number. It never changes, and can still be read after the end
     * of the permit, when another holder may have the slot. Local; any thread may call it.
     */
    int slot();

    /**
     * Always refused: a store keeps only a lock for a ticket. The permit is still held.
     *
     * @throws UnsafeStoreException always; if the permit was released, {@link IllegalStateException}
     */
    @Override
    LeaseTicket export(Duration claim);

    /** Always refused, like {@link #export}: completes exceptionally. */
    @Override
    CompletableFuture<LeaseTicket> exportAsync(Duration claim);
}
