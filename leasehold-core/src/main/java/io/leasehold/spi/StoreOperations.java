package io.leasehold.spi;

import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.Finding;
import io.leasehold.admin.Leak;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongConsumer;

/**
 * What a store can do for its operators besides telling who holds what. A store that cannot do one of these leaves its
 * default, which says so.
 *
 * <p>Every method returns at once. Futures may complete exceptionally with {@link io.leasehold.LockStoreException}.
 */
public interface StoreOperations {

    /** For a store that can do none of it. */
    static StoreOperations none() {
        return new StoreOperations() {};
    }

    /** Whether records of clients are kept here, so that a missing one says something. */
    default boolean keepsClientRecords() {
        return false;
    }

    /** Keeps what a client tells of itself, for so long, in place of what it told before. */
    default CompletableFuture<Void> announce(ClientRecord record, long keepNanos) {
        return CompletableFuture.completedFuture(null);
    }

    /** What the client with this holder id told of itself last, if it is still kept. */
    default CompletableFuture<Optional<ClientRecord>> client(String holderId) {
        return CompletableFuture.completedFuture(Optional.empty());
    }

    /** See {@link io.leasehold.admin.LockAdmin#coverChildren}; empty for a store whose holds end with their ttl or session alone. */
    default Optional<Path> coverChildren() {
        return Optional.empty();
    }

    /**
     * Tells how many keys a walk over all of them has looked at, from now on and for whoever walks: for people who wait.
     *
     * @param seen called on any thread with the number so far; must not block
     */
    default void onProgress(LongConsumer seen) {}

    /** What only this store can see: side keys, waiters of free locks. Locks without an end are found by listing. */
    default CompletableFuture<List<Leak>> leaks() {
        return CompletableFuture.completedFuture(List.of());
    }

    /** How the store is set up, check by check. */
    default CompletableFuture<List<Finding>> diagnose() {
        return CompletableFuture.completedFuture(List.of());
    }
}
