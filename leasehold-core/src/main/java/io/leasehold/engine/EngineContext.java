package io.leasehold.engine;

import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;

/**
 * What the parts of one client share.
 *
 * @param runtime time, threads and randomness
 * @param timeline the one timer
 * @param store where the locks are
 * @param events tells the listeners
 * @param retrier ends owner tokens
 * @param renewals sends renewals in batches
 * @param holds the grants that are held
 * @param suspensions notices that the machine was suspended
 * @param leaks notices forgotten leases
 * @param announcer tells the store who we are
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
