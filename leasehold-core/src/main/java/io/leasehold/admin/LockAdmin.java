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
import java.util.Objects;
import java.util.Optional;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Administrative operations at a store: inspection, forced release and diagnosis.
 *
 * <p>Every method asks the store and waits for its answer, bounded by the store's time limit; none
 * reacts to interruption. Errors are {@link LockStoreException}.
 */
public interface LockAdmin {

    /** The holder of the lock, or empty if it is free. */
    Optional<Holder> inspect(LockName name);

    /**
     * As {@link #inspect(LockName)}, for the lock with exactly this name.
     *
     * @throws IllegalArgumentException if the text is not a valid {@link LockName}
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
     * The waiters for the lock at the store, in the order of arrival, at most {@code limit} of them. Empty if there are none,
     * and always at a store that keeps no queue: one that promises less than {@link Guarantee.Queueing#FIFO}.
     *
     * <p>A client has one place for each lock, however many of its threads wait.
     */
    List<QueuedWaiter> waiters(LockName name, int limit);

    /**
     * As {@link #waiters(LockName, int)}, for the lock with exactly this name.
     *
     * @throws IllegalArgumentException if the text is not a valid {@link LockName}
     */
    default List<QueuedWaiter> waiters(String name, int limit) {
        return waiters(LockName.exactly(name), limit);
    }

    /**
     * Takes the lock away from its holder. The fence is raised first, so that a resource that checks
     * tokens refuses the old holder once a new one has come.
     *
     * @param holderId only if this is still the {@linkplain Holder#id() holder}; null for any holder
     * @return whether a hold was removed
     */
    boolean forceRelease(LockName name, @Nullable String holderId);

    /**
     * As {@link #forceRelease(LockName, String)}, for the lock with exactly this name.
     *
     * @throws IllegalArgumentException if the text is not a valid {@link LockName}
     */
    default boolean forceRelease(String name, @Nullable String holderId) {
        return forceRelease(LockName.exactly(name), holderId);
    }

    /**
     * Declares the nodes of a Redlock set new, so that they grant at once instead of after the quarantine. Only for nodes on
     * which no client has held anything within the largest ttl: then no client relies on a grant that they may have lost.
     *
     * @return each node's answer
     * @throws UnsafeStoreException if the store is no set of nodes
     * @throws StoreUnavailableException if no quorum of them answers; nothing is changed then
     */
    List<NodeVote> declareNewNodes();

    /**
     * The record of the holder with this id. Empty if the store keeps no such records, the client has held nothing for longer
     * than a second, or it is gone.
     */
    Optional<ClientRecord> client(String holderId);

    /**
     * The leaks, the worst first. Suspects are checked twice, four seconds apart, so that a hold that ends or a hand-over is
     * not reported. At most {@value #MAX_LEAK_CANDIDATES} locks are checked.
     *
     * @param olderThan a hold for longer than this is {@link Leak.Kind#HELD_TOO_LONG}, where the store knows since when
     * @throws IllegalArgumentException if {@code olderThan} is negative
     */
    List<Leak> leaks(Duration olderThan);

    /**
     * Reports the number of keys that later calls of {@link #list} and {@link #leaks} have read so far, to show progress.
     * Stores that answer in one step report nothing.
     *
     * @param seen called on any thread; must not block
     */
    void onProgress(LongConsumer seen);

    /**
     * Declares that processes which may outlive this one use this client's locks, such as a command that runs under a lock.
     * Must be called before the lock is acquired.
     *
     * <p>A store on one machine frees the locks of a dead process at once, long before their ttl (SQLite). After this call it
     * does so only once an {@code e} has been appended to the returned file, by a process that ensures that those processes
     * have ended, such as the last of them. No other process may write to the file, and this process must not open it: that
     * would end its proof of life. If nothing is appended, the ttl counts.
     *
     * @return the file; empty if the store lets holds end with their ttl or session alone
     * @throws StoreUnavailableException if the file cannot be written
     */
    Optional<Path> coverChildren();

    /** The findings about the configuration of the store and this client; see {@link Finding.Grade}. */
    List<Finding> diagnose();

    /** The maximum number of locks that {@link #leaks} checks. */
    int MAX_LEAK_CANDIDATES = 100_000;

    /**
     * A held lock.
     *
     * @param name the lock
     * @param holder its holder
     */
    record HeldLock(LockName name, Holder holder) {
        /** Refuses nulls. */
        public HeldLock {
            Objects.requireNonNull(name, "name");
            Objects.requireNonNull(holder, "holder");
        }
    }
}
