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
 * The operations of a store for operators, beyond inspecting and releasing locks. A store that does not support one of these
 * keeps its default, which reports that.
 *
 * <p>Every method returns at once. Futures may complete exceptionally with {@link io.leasehold.LockStoreException}.
 */
public interface StoreOperations {

    /** The operations of a store that supports none of them. */
    static StoreOperations none() {
        return new StoreOperations() {};
    }

    /** Whether records of clients are kept here, so that a missing one is significant. */
    default boolean keepsClientRecords() {
        return false;
    }

    /** Stores a client's record for this time, in place of its previous one. */
    default CompletableFuture<Void> announce(ClientRecord record, long keepNanos) {
        return CompletableFuture.completedFuture(null);
    }

    /** The last record of the client with this holder id, if it is still kept. */
    default CompletableFuture<Optional<ClientRecord>> client(String holderId) {
        return CompletableFuture.completedFuture(Optional.empty());
    }

    /** See {@link io.leasehold.admin.LockAdmin#coverChildren}; empty for a store whose holds end with their ttl or session alone. */
    default Optional<Path> coverChildren() {
        return Optional.empty();
    }

    /**
     * Reports the number of keys that a scan of all keys has read, for every later scan: to show progress.
     *
     * @param seen called on any thread with the current number; must not block
     */
    default void onProgress(LongConsumer seen) {}

    /** Leaks that only this store can find: side keys, waiters of free locks. The engine finds locks without an end by listing. */
    default CompletableFuture<List<Leak>> leaks() {
        return CompletableFuture.completedFuture(List.of());
    }

    /** The findings about the store's configuration. */
    default CompletableFuture<List<Finding>> diagnose() {
        return CompletableFuture.completedFuture(List.of());
    }
}
