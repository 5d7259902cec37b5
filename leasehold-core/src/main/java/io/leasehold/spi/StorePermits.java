package io.leasehold.spi;

import io.leasehold.LockName;
import io.leasehold.admin.PermitsStatus;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The operations of a store or node that keeps permits, for operators. Permits are acquired, renewed and released by
 * the same requests as locks, whose name is then one of {@linkplain LockName#isPermits() permits}.
 *
 * <p><b>The rule.</b> One fence, one queue and one count belong to a name. A request finds the slot that its own owner
 * token holds, in whatever slot that is, before the store gives it the lowest free slot below the count. A request with
 * another {@linkplain LockName#permitCount() count} than the store keeps fails with
 * {@link io.leasehold.PermitCountException}, permanently. A renewal or a release names no slot.
 *
 * <p>A store that {@linkplain #keepsCount() keeps no count} has a fence for each slot, and none for the name. The
 * holders state the count, and a request fails with that exception only if it meets a holder with another count.
 *
 * <p>Every method returns at once. Futures may complete on any thread, and exceptionally with {@link
 * io.leasehold.LockStoreException}.
 */
public interface StorePermits {

    /**
     * Whether the store keeps the count of each name, and one fence for all its slots. Then fencing tokens increase
     * over all permits of a name; otherwise, they increase on each slot.
     */
    default boolean keepsCount() {
        return true;
    }

    /**
     * Whether one request takes several permits, all or none: as many as the tokens that it {@linkplain
     * AcquireRequest#reserve reserves}, each with the next token. The slots then have one owner token, and end together.
     * A request that waits has one place in the queue, and later ones wait behind it. Otherwise (the default), each
     * permit is requested by itself, and a request reserves one token.
     */
    default boolean takesSeveral() {
        return false;
    }

    /** The exclusive lock of this store that is the slot; empty (the default) if slots are no locks. */
    default Optional<LockName> lockOf(LockName name, int slot) {
        return Optional.empty();
    }

    /**
     * Reads the permits of this name; empty if the store keeps no count for it. A store that keeps none returns the
     * largest count that a holder states, and is empty if no permit is held.
     */
    CompletableFuture<Optional<PermitsStatus>> describe(LockName name);

    /**
     * The permits of the names that match the glob ({@code *}, {@code ?}) of which one is held, sorted by name, at most
     * {@code limit}. Leaves out what other programs wrote.
     */
    CompletableFuture<List<PermitsStatus>> list(String glob, int limit);

    /**
     * Changes the count if its version is this one; version 0 means a name without a count. A store may forget a name
     * and count it anew, so no version may stand for two counts: that of a client's count is the count itself, and that
     * of an operator's is above {@link LockName#MAX_PERMITS} and increases. Slots from the new count on are renewed and
     * released until they end, and then not granted. A store that keeps no count fails with {@link
     * io.leasehold.UnsafeStoreException}.
     *
     * @return whether it was changed
     */
    CompletableFuture<Boolean> change(LockName name, int count, long version);

    /**
     * Removes the hold of a slot, after raising the fence; if {@code holderId} is not null, only that holder's. All slots
     * of its owner token end with it.
     *
     * @return whether a hold was removed
     */
    CompletableFuture<Boolean> forceRelease(LockName name, int slot, @Nullable String holderId);
}
