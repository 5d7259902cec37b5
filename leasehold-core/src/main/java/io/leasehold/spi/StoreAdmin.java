package io.leasehold.spi;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.QueuedWaiter;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Inspects the locks of a store or node, and releases one by force.
 *
 * <p>Every method returns at once. Futures may complete on any thread, and exceptionally with {@link
 * io.leasehold.LockStoreException}.
 */
public interface StoreAdmin {

    /** Reads the holder of the lock. */
    CompletableFuture<Optional<HeldLock>> describe(LockName name);

    /** Held locks whose names match the glob ({@code *}, {@code ?}), at most {@code limit}, sorted by name. */
    CompletableFuture<List<HeldLock>> list(String glob, int limit);

    /** The waiters in the order of arrival, at most {@code limit}; empty for a store without a queue. */
    default CompletableFuture<List<QueuedWaiter>> waiters(LockName name, int limit) {
        return CompletableFuture.completedFuture(List.of());
    }

    /** The readers that hold the lock, in no order, at most {@code limit}; empty if none does, or the store keeps none. */
    default CompletableFuture<List<Holder>> readers(LockName name, int limit) {
        return CompletableFuture.completedFuture(List.of());
    }

    /**
     * Removes a hold, after raising the fence; if {@code holderId} is not null, only that holder's. Without
     * a holder, all readers of the lock are removed.
     *
     * @return whether a hold was removed
     */
    CompletableFuture<Boolean> forceRelease(LockName name, @Nullable String holderId);
}
