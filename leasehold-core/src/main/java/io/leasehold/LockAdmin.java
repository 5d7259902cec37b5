package io.leasehold;

import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Sees who holds what at a store, and repairs it: what the command line is made of.
 *
 * <p>Every method asks the store and waits for its answer, bounded by the store's time limit; none
 * reacts to interruption. Errors are {@link LockStoreException}.
 */
public interface LockAdmin {

    /** Who holds the lock, or empty if nobody does. */
    Optional<Holder> inspect(LockName name);

    /**
     * The locks that are held now and whose names match the glob ({@code *} and {@code ?}), at most
     * {@code limit} of them, in the order of their names. Not a snapshot: locks may come and go
     * meanwhile.
     */
    List<HeldLock> list(String glob, int limit);

    /**
     * Who waits for the lock at the store, first come first, at most {@code limit} of them. Empty if nobody does, and always
     * at a store that keeps no queue: one that promises less than {@link Guarantee.Queueing#FIFO}.
     *
     * <p>A client has one place for each lock, whichever of its threads wait.
     */
    List<Waiter> waiters(LockName name, int limit);

    /**
     * Takes the lock away from its holder. The fence is raised first, so that a resource that checks
     * tokens refuses the old holder once a new one has come.
     *
     * @param holderId only if this is still the {@linkplain Holder#id() holder}; null for whoever it is
     * @return whether a hold was removed
     */
    boolean forceRelease(LockName name, @Nullable String holderId);

    /**
     * Declares the nodes of a Redlock set new, so that they grant at once instead of after the quarantine. Only for nodes on
     * which no client has held anything within the largest ttl: what they may have forgotten is then nobody's.
     *
     * @return what each node said
     * @throws UnsafeStoreException if the store is no set of nodes
     * @throws StoreUnavailableException if no quorum of them answers; nothing is changed then
     */
    List<NodeVote> declareNewNodes();

    /**
     * A held lock.
     *
     * @param name the lock
     * @param holder who holds it
     */
    record HeldLock(LockName name, Holder holder) {}
}
