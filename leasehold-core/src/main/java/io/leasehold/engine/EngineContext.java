package io.leasehold.engine;

import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;

/**
 * The context that the parts of one client share.
 *
 * @param runtime time, threads and randomness
 * @param timeline the one timer
 * @param store the store of the locks
 * @param events notifies the listeners
 * @param retrier ends owner tokens
 * @param renewals sends renewals in batches
 * @param holds the grants that are held
 * @param suspensions detects that the machine was suspended
 * @param leaks detects dropped leases
 * @param announcer announces the client at the store
 * @param holderId the public id of this client
 */
record EngineContext(
        LockRuntime runtime,
        TimerQueue timeline,
        LockStore store,
        Events events,
        ReleaseRetrier retrier,
        RenewalBatcher renewals,
        HoldTable holds,
        SuspendWatch suspensions,
        LeakWatch leaks,
        ClientAnnouncer announcer,
        String holderId) {

    long random() {
        return runtime.randomBelow(WaitPolicy.ONE);
    }
}
