package io.leasehold.spring;

import io.leasehold.spi.method.LeaseSlots;
import io.leasehold.spi.method.OptionChanges;
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
        LeaseSlots slots,
        @Nullable Duration maxWait,
        OptionChanges changes,
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
}
