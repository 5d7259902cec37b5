package io.leasehold.engine;

import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;

/**
 * What the parts of one client share.
 *
 * @param runtime time, timers, threads and randomness
 * @param store where the locks are
 * @param events tells the listeners
 * @param undoer ends owner tokens
 * @param renewals sends renewals in batches
 * @param holds the leases that are held
 * @param holderId the public id of this client
 */
record Wiring(
        LockRuntime runtime,
        LockStore store,
        Events events,
        Undoer undoer,
        RenewalLoop renewals,
        HoldTable holds,
        String holderId) {

    long random() {
        return runtime.randomBelow(WaitPolicy.ONE);
    }
}
