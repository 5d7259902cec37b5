package io.leasehold.simulator;

import io.leasehold.LockOptions;
import java.time.Duration;

/**
 * The times at which a client must renew.
 *
 * @param options the options of its locks
 */
record RenewalDuty(LockOptions options) {

    boolean isRenewed() {
        return options.renewalInterval() != null;
    }

    /** Whether a hold is renewed as long as a run may last. */
    boolean mustRenew() {
        return isRenewed() && options.maxHold().compareTo(Duration.ofHours(1)) > 0;
    }

    /** The time between two renewals. */
    long intervalNanos() {
        Duration interval = options.renewalInterval();
        return interval == null ? 0 : interval.toNanos();
    }

    /** The time after a failed renewal: a quarter of the interval, or as many retries as the options allow. */
    long retryNanos() {
        long leftNanos = options.validity().toNanos() - intervalNanos();
        return Math.max(intervalNanos() / 4, leftNanos / options.renewalTries());
    }
}
