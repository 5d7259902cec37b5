package io.leasehold.engine;

import io.leasehold.LockOptions;
import io.leasehold.spi.LockStore;
import java.time.Duration;

/**
 * The options of one lock object, and the values that are derived from them once for all attempts.
 *
 * @param options the options
 * @param timings the durations
 * @param policy the delays of waiters
 */
record WaitSettings(LockOptions options, Timings timings, WaitPolicy policy) {

    /** The settings at one store. */
    static WaitSettings of(LockOptions options, LockStore store) {
        WaitPolicy policy = new WaitPolicy(options.recheck().toNanos(), options.retry());
        return new WaitSettings(options, Timings.of(options, store.isOfNodes()), policy);
    }

    /** Returns how long other clients must not have the lock, however soon a lease is released. */
    long atLeastNanos() {
        return Math.min(Long.MAX_VALUE / 2, Timings.saturatedNanos(options.atLeast()));
    }

    /** Returns the time limit for each node of the store; zero for the configured limit. */
    long nodeTimeoutNanos() {
        return options.givenNodeTimeout().map(Duration::toNanos).orElse(0L);
    }
}
