package io.leasehold.spi.method;

import io.leasehold.Fairness;
import io.leasehold.LockOptions;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Options that a method sets; null where it leaves them to the client.
 *
 * @param ttl see {@link LockOptions}
 * @param maxHold see {@link LockOptions}
 * @param atLeast see {@link LockOptions}
 * @param fairness see {@link LockOptions}
 */
public record OptionChanges(
        @Nullable Duration ttl,
        @Nullable Duration maxHold,
        @Nullable Duration atLeast,
        @Nullable Fairness fairness) {

    LockOptions of(LockOptions options) {
        LockOptions changed = options;
        if (ttl != null) {
            changed = changed.ttl(ttl);
        }
        if (maxHold != null) {
            changed = changed.maxHold(maxHold);
        }
        if (atLeast != null) {
            changed = changed.atLeast(atLeast);
        }
        return fairness == null ? changed : changed.fairness(fairness);
    }
}
