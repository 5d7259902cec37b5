package io.leasehold.cdi;

import io.leasehold.spi.method.LeaseSlots;
import io.leasehold.spi.method.OptionChanges;
import java.lang.reflect.Method;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One method with {@link Locked}, read and checked.
 *
 * @param method the method of the class, not that of an interface
 * @param isStage whether its body has ended with the stage that it returns, and not when it returns
 * @param naming the names of its locks
 * @param slots which parameters are filled
 * @param maxWait the patience, or null for that of the settings
 * @param changes what differs from the options of the client
 * @param onBusy what happens if the lock stays busy
 * @param fallback for {@link OnBusy#FALLBACK}
 * @param onLoss what happens to the body on a loss
 * @param commitGuard the validity that a commit needs, or null for the default
 * @param client the name of the bean, or empty
 */
record LockedMethod(
        Method method,
        boolean isStage,
        LockNaming naming,
        LeaseSlots slots,
        @Nullable Duration maxWait,
        OptionChanges changes,
        OnBusy onBusy,
        @Nullable Method fallback,
        OnLoss onLoss,
        @Nullable Duration commitGuard,
        String client) {}
