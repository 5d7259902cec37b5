package io.leasehold.admin;

import io.leasehold.Guarantee;
import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.NodeVote;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.LongConsumer;
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
     * As {@link #inspect(LockName)}, for the lock with exactly this name.
     *
     * @throws IllegalArgumentException if the text is no valid {@link LockName}
     */
    default Optional<Holder> inspect(String name) {
        return inspect(LockName.exactly(name));
    }

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
    List<QueuedWaiter> waiters(LockName name, int limit);

    /**
     * As {@link #waiters(LockName, int)}, for the lock with exactly this name.
     *
     * @throws IllegalArgumentException if the text is no valid {@link LockName}
     */
    default List<QueuedWaiter> waiters(String name, int limit) {
        return waiters(LockName.exactly(name), limit);
    }

    /**
     * Takes the lock away from its holder. The fence is raised first, so that a resource that checks
     * tokens refuses the old holder once a new one has come.
     *
     * @param holderId only if this is still the {@linkplain Holder#id() holder}; null for whoever it is
     * @return whether a hold was removed
     */
    boolean forceRelease(LockName name, @Nullable String holderId);

    /**
     * As {@link #forceRelease(LockName, String)}, for the lock with exactly this name.
     *
     * @throws IllegalArgumentException if the text is no valid {@link LockName}
     */
    default boolean forceRelease(String name, @Nullable String holderId) {
        return forceRelease(LockName.exactly(name), holderId);
    }

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
     * What the holder with this id tells of itself, or empty: the store keeps no such records, the client has held nothing
     * for longer than a second, or it is gone.
     */
    Optional<ClientRecord> client(String holderId);

    /**
     * What should have been given back and was not, the worst first. What may be on its way is looked at twice, four seconds
     * apart, so that a hold that ends or a hand-over is no leak. At most {@value #MAX_LEAK_CANDIDATES} locks are looked at.
     *
     * @param olderThan a hold for longer than this is {@link Leak.Kind#HELD_TOO_LONG}, where the store knows since when
     * @throws IllegalArgumentException if {@code olderThan} is negative
     */
    List<Leak> leaks(Duration olderThan);

    /**
     * Tells how many keys {@link #list} and {@link #leaks} have looked at so far, from now on: for people who wait. At stores
     * that answer in one step nothing is told.
     *
     * @param seen called on any thread; must not block
     */
    void onProgress(LongConsumer seen);

    /**
     * Declares that what this client holds is used by processes that may outlive this one, such as a command that runs under a
     * lock. To be called before the lock is acquired.
     *
     * <p>A store on one machine frees what a dead process held at once, long before its ttl (SQLite). After this call it does so
     * only once an {@code e} has been appended to the returned file: by whoever sees to it that those processes have ended, such
     * as the last of them. Nobody else may write to the file, and this process may not open it: that would end its proof of life.
     * Where nothing is appended, the ttl counts.
     *
     * @return the file; empty if the store lets holds end with their ttl or session alone
     * @throws StoreUnavailableException if the file cannot be written
     */
    Optional<Path> coverChildren();

    /** How the store and this client are set up, check by check; see {@link Finding.Grade}. */
    List<Finding> diagnose();

    /** As many locks as {@link #leaks} looks at. */
    int MAX_LEAK_CANDIDATES = 100_000;

    /**
     * A held lock.
     *
     * @param name the lock
     * @param holder who holds it
     */
    record HeldLock(LockName name, Holder holder) {}
}
