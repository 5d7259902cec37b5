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
 * <p>Every method sends a request to the store and waits for its answer, for at most the store's time limit; none
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
     * The readers that hold the lock, in no order, at most {@code limit} of them. A process whose readers share a hold is
     * listed once. Empty if no reader holds it, or the store does not keep readers.
     *
     * @param name the lock; {@link LockName#asRead()} means the same
     */
    List<Holder> readers(LockName name, int limit);

    /**
     * As {@link #readers(LockName, int)}, for the lock with exactly this name.
     *
     * @throws IllegalArgumentException if the text is not a valid {@link LockName}
     */
    default List<Holder> readers(String name, int limit) {
        return readers(LockName.exactly(name), limit);
    }

    /**
     * The locks that are held now and whose names match the glob ({@code *} and {@code ?}), at most {@code limit} of
     * them, in the order of their names. Not a snapshot: locks may be acquired and released meanwhile.
     */
    List<HeldLock> list(String glob, int limit);

    /**
     * The waiters for the lock at the store, in the order of arrival, at most {@code limit} of them. Always empty for a
     * store without a queue: one that promises less than {@link Guarantee.Queueing#FIFO}.
     *
     * <p>A client has one place for each lock, however many of its threads wait.
     *
     * @param name the lock; for permits, {@link LockName#asPermits()}
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
     * Releases the lock by force. The store raises the fence first, so that a resource that checks tokens refuses the
     * old holder once a new holder has used it. If {@linkplain #readers readers} hold the lock, all of them are released,
     * or the holds of the given holder.
     *
     * @param holderId releases the lock only if this is still the {@linkplain Holder#id() holder}; null for any holder
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
     * The {@linkplain io.leasehold.Permits permits} of this name: their count and holders. Empty if the store keeps no
     * count for the name, for example because it has not been used for a while.
     *
     * @throws UnsafeStoreException if the store does not keep permits
     */
    Optional<PermitsStatus> permits(LockName name);

    /**
     * The permits of the names that match the glob ({@code *} and {@code ?}) and of which one is held now, at most
     * {@code limit} names, in their order. Empty if the store does not keep permits. Not a snapshot. Leaves out keys of
     * other programs that look like permits.
     */
    List<PermitsStatus> listPermits(String glob, int limit);

    /**
     * Changes the number of permits of a name, if the {@linkplain PermitsStatus#version() version} is still this one.
     * Clients that state another count are refused from now on: each new attempt, and each that waits at its next
     * request to the store. Holders keep their permits: slots from a lower count on are renewed and released until
     * their holders end them, so more permits than the count may be held until then. The new count is kept until it is
     * changed again; Redis forgets it a year after the last use of the name.
     *
     * @param count the new number of permits
     * @param version the version that the caller has read; 0 for a name without a count
     * @return whether it was changed; if not, another operator or client was faster
     * @throws IllegalArgumentException if the count is not from 1 to {@link LockName#MAX_PERMITS}
     * @throws UnsafeStoreException if the store does not keep permits, or keeps no count of them
     * @throws LockStoreException also if the name has no count, and Redis finds that it is in use as that of a lock
     */
    boolean changePermits(LockName name, int count, long version);

    /**
     * Releases the permit of a slot by force, as {@link #forceRelease(LockName, String)} does with a lock. If the store
     * granted it {@linkplain io.leasehold.Permits#several in one step} with others, all of these end.
     *
     * @param slot the slot
     * @param holderId releases the permit only if this is still the holder; null for any holder
     * @return whether a hold was removed
     * @throws UnsafeStoreException if the store does not keep permits
     */
    boolean forceReleasePermit(LockName name, int slot, @Nullable String holderId);

    /**
     * Declares the nodes of a Redlock set new, so that they grant at once instead of after the quarantine. Use it only
     * for nodes on which no client has held a lock within the largest ttl: then no client relies on a grant that they
     * may have lost.
     *
     * @return each node's answer
     * @throws UnsafeStoreException if the store is not a set of nodes
     * @throws StoreUnavailableException if no quorum of them answers; then nothing is changed
     */
    List<NodeVote> declareNewNodes();

    /**
     * The record of the holder with this id. Empty if the store keeps no such records, if the client has not held any
     * lock for longer than a second, or if the client is gone.
     */
    Optional<ClientRecord> client(String holderId);

    /**
     * The leaks, the worst first. Suspects are checked twice, four seconds apart, so that a hold that is ending and a
     * hand-over are not reported. At most {@value #MAX_LEAK_CANDIDATES} locks are checked.
     *
     * @param olderThan a longer hold is reported as {@link Leak.Kind#HELD_TOO_LONG}, if the store knows when it began
     * @throws IllegalArgumentException if {@code olderThan} is negative
     * @throws IllegalStateException if the client is closed between the two checks
     */
    List<Leak> leaks(Duration olderThan);

    /**
     * Registers a listener for the number of keys that later calls of {@link #list} and {@link #leaks} have read so
     * far, to show progress. Stores that answer in one step do not call it.
     *
     * @param seen called on any thread; must not block
     */
    void onProgress(LongConsumer seen);

    /**
     * Declares that other processes, which may outlive this one, use this client's locks: for example a command that
     * runs under a lock. Must be called before the lock is acquired.
     *
     * <p>A store on one machine (SQLite) frees the locks of a dead process at once, long before their ttl. After this
     * call it does so only once an {@code e} has been appended to the returned file. The process that appends it, such
     * as the last of the other processes, ensures that all of them have ended. No other process may write to the file,
     * and this process must not open it: that would end its proof of life. If nothing is appended, the locks end with
     * their ttl.
     *
     * @return the file; empty if holds at this store end only with their ttl or session
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
