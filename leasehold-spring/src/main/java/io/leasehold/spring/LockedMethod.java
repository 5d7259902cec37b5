package io.leasehold.spring;

import io.leasehold.Fairness;
import io.leasehold.Lease;
import io.leasehold.LockOptions;
import io.leasehold.MultiLease;
import java.lang.reflect.Method;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The {@link Locked} annotation of one method, read and checked.
 *
 * @param method the method of the class, not that of an interface
 * @param style how its body runs
 * @param naming the names of its locks
 * @param slots which parameters are filled
 * @param maxWait the patience, or null for that of the settings
 * @param changes what differs from the options of the client
 * @param onBusy never {@link OnBusy#DEFAULT}
 * @param fallback for {@link OnBusy#FALLBACK}
 * @param onLoss what happens to the body on a loss
 * @param commitGuard the validity that a commit needs, or null for the default
 * @param client the name of the bean, or empty
 */
record LockedMethod(
        Method method,
        Style style,
        LockNaming naming,
        Slots slots,
        @Nullable Duration maxWait,
        Changes changes,
        OnBusy onBusy,
        @Nullable Method fallback,
        OnLoss onLoss,
        @Nullable Duration commitGuard,
        String client) {

    /** How a body runs. */
    enum Style {
        /** It has ended when the method returns. */
        BLOCKING,
        /** It has ended with the stage that the method returns. */
        STAGE,
        /** It runs when the publisher that the method returns is subscribed to, and has ended with it. */
        PUBLISHER,
        /** It runs as a coroutine, of which Spring makes a publisher, and has ended with it. */
        SUSPENDING
    }

    /**
     * Where the parameters stand that are filled; −1 for none.
     *
     * @param lease of type {@link Lease}
     * @param multiLease of type {@link MultiLease}
     * @param token of type long
     */
    record Slots(int lease, int multiLease, int token) {

        boolean wantOne() {
            return lease >= 0 || token >= 0;
        }
    }

    /**
     * Options that a method sets; null where it leaves them to the client.
     *
     * @param ttl see {@link LockOptions}
     * @param maxHold see {@link LockOptions}
     * @param atLeast see {@link LockOptions}
     * @param fairness see {@link LockOptions}
     */
    record Changes(
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
}
