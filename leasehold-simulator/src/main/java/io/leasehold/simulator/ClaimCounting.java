package io.leasehold.simulator;

import io.leasehold.spi.Claim;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.PassingSignals;
import io.leasehold.spi.StoreSignals;
import io.leasehold.testkit.virtual.PassingStore;

/** Counts the leases that begin from a message. */
final class ClaimCounting extends PassingStore {

    private final Counts counts;

    ClaimCounting(LockStore store, Counts counts) {
        super(store);
        this.counts = counts;
    }

    @Override
    public void listen(StoreSignals signals) {
        super.listen(new PassingSignals(signals) {
            @Override
            public boolean claimed(Claim claim) {
                boolean begins = super.claimed(claim);
                if (begins) {
                    counts.saw("began from a message");
                }
                return begins;
            }
        });
    }
}
