package io.leasehold.spi;

import io.leasehold.Guarantees;
import io.leasehold.LockName;
import io.leasehold.admin.QueuedWaiter;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Where locks are kept, as the engine sees it: no ballots, no threads, no waiting.
 *
 * <p><b>Contract.</b> Every method returns at once. {@code acquire}, {@code renew} and {@code release}
 * always complete their future, normally, within the request's time limit: failures are replies. Futures may
 * complete on any thread; whoever depends on them must not block there. A store never repeats a request by
 * itself, except an {@code acquire} of the same owner token with a higher ballot.
 *
 * <p>Admin methods ({@code describe}, {@code list}, {@code waiters}, {@code forceRelease}) may complete exceptionally with
 * {@link io.leasehold.LockStoreException}.
 */
public interface LockStore extends AutoCloseable {

    /** The store as people would name it, without secrets. */
    String description();

    /** What it promises. */
    Guarantees guarantees();

    /** The largest ttl it accepts; the engine refuses larger ones at the door. */
    default Duration maxTtl() {
        return Duration.ofHours(24);
    }

    /** Whether it can grant a request for all these locks at once, all or none, in one step of its own. */
    default boolean isAtomicOver(List<LockName> names) {
        return names.size() == 1;
    }

    /**
     * Whether an answer is made of those of several nodes, each with {@linkplain AcquireRequest#nodeTimeoutNanos a time of its
     * own}; else the store is the node.
     */
    default boolean isOfNodes() {
        return false;
    }

    /** Gives the store the ear of the engine; called once, before any request. */
    void listen(StoreSignals signals);

    /**
     * Asks for the locks. A request that does not {@linkplain AcquireRequest#isWaiting() wait}, and is refused, is the last one of
     * its owner token.
     */
    CompletableFuture<AcquireReply> acquire(AcquireRequest request);

    /** Extends grants; at a store with sessions, tells until when the session keeps them. */
    CompletableFuture<RenewReply> renew(RenewBatch batch);

    /** Ends an owner token: release, undo and withdrawal of a waiter are one verb. */
    CompletableFuture<ReleaseReply> release(ReleaseRequest request);

    /** Who holds the lock. */
    CompletableFuture<Optional<LockRecord>> describe(LockName name);

    /** Held locks whose names match the glob ({@code *}, {@code ?}), at most {@code limit}, sorted by name. */
    CompletableFuture<List<LockRecord>> list(String glob, int limit);

    /** Who waits, first come first, at most {@code limit}; empty where no queue is kept. */
    default CompletableFuture<List<QueuedWaiter>> waiters(LockName name, int limit) {
        return CompletableFuture.completedFuture(List.of());
    }

    /**
     * Removes a hold, after raising the fence; only that of {@code holderId} unless null.
     *
     * @return whether there was one
     */
    CompletableFuture<Boolean> forceRelease(LockName name, @Nullable String holderId);

    /** What it can do for operators besides. */
    default StoreOperations operations() {
        return StoreOperations.none();
    }

    /**
     * Ends connections and threads, and completes with a failure what is still unanswered. Holds stay until their
     * ttl.
     */
    @Override
    void close();
}
