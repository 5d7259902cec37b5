package io.leasehold.engine;

import io.leasehold.LockOptions;

/**
 * The options of one lock object, and what is derived from them once rather than for every attempt.
 *
 * @param options the options
 * @param timings every span
 * @param policy how waiters wait
 */
record WaitSettings(LockOptions options, Timings timings, WaitPolicy policy) {

    static WaitSettings of(LockOptions options) {
        WaitPolicy policy = new WaitPolicy(options.recheck().toNanos(), options.retry());
        return new WaitSettings(options, Timings.of(options), policy);
    }
}
