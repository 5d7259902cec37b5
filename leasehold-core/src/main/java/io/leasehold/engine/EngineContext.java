package io.leasehold.engine;

import io.leasehold.LockName;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import java.util.List;
import java.util.concurrent.CompletableFuture;

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

    /** Returns a request for these locks, with the parts that all requests share. */
    AcquireRequest request(List<LockName> names, OwnerToken owner, WaitSettings settings) {
        Timings timings = settings.timings();
        return AcquireRequest.exclusive(names, owner, holderId, timings.toldNanos(), timings.answerNanos())
                .nodeTimeout(settings.nodeTimeoutNanos());
    }

    /** Waits for the store's answer. */
    <T> T answer(CompletableFuture<T> asked) {
        return Futures.join(runtime, asked);
    }

    long random() {
        return runtime.randomBelow(WaitPolicy.ONE);
    }
}
