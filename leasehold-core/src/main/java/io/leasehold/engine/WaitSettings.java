package io.leasehold.engine;

import io.leasehold.LockOptions;
import io.leasehold.spi.LockStore;
import java.time.Duration;

/**
 * The options of one lock object, and what is derived from them once rather than for every attempt.
 *
 * @param options the options
 * @param timings every span
 * @param policy how waiters wait
 */
record WaitSettings(LockOptions options, Timings timings, WaitPolicy policy) {

    /** For one store. */
    static WaitSettings of(LockOptions options, LockStore store) {
        WaitPolicy policy = new WaitPolicy(options.recheck().toNanos(), options.retry());
        return new WaitSettings(options, Timings.of(options, store.isOfNodes()), policy);
    }

    /** For how long each node of the store is waited for; zero: as it is configured. */
    long nodeTimeoutNanos() {
        return options.givenNodeTimeout().map(Duration::toNanos).orElse(0L);
    }
}
