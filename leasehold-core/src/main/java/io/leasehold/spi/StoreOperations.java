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
 * The further operations of a store for operators, beyond inspecting and releasing locks. If a store does not support
 * one of them, the default implementation reports that.
 *
 * <p>Every method returns at once. Futures may complete exceptionally with {@link io.leasehold.LockStoreException}.
 */
public interface StoreOperations {

    /** The operations of a store that supports none of them. */
    static StoreOperations none() {
        return new StoreOperations() {};
    }

    /** Whether this store keeps records of clients, so that a missing record is significant. */
    default boolean keepsClientRecords() {
        return false;
    }

    /** Stores a client's record for this time; it replaces the previous one. */
    default CompletableFuture<Void> announce(ClientRecord record, long keepNanos) {
        return CompletableFuture.completedFuture(null);
    }

    /** Reads the last record of the client with this holder id, if it is still kept. */
    default CompletableFuture<Optional<ClientRecord>> client(String holderId) {
        return CompletableFuture.completedFuture(Optional.empty());
    }

    /**
     * See {@link io.leasehold.admin.LockAdmin#coverChildren}; empty for a store whose holds end only with their ttl or
     * session.
     */
    default Optional<Path> coverChildren() {
        return Optional.empty();
    }

    /**
     * Registers a listener for the number of keys that every later scan of all keys has read, to show progress.
     *
     * @param seen called on any thread with the current number; must not block
     */
    default void onProgress(LongConsumer seen) {}

    /**
     * Finds the leaks that only this store can find: side keys, waiters of free locks. The engine finds locks without
     * an end by listing.
     */
    default CompletableFuture<List<Leak>> leaks() {
        return CompletableFuture.completedFuture(List.of());
    }

    /** The findings about the store's configuration. */
    default CompletableFuture<List<Finding>> diagnose() {
        return CompletableFuture.completedFuture(List.of());
    }
}
