package io.leasehold.spi.toolkit;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreAdmin;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The operations on all locks of a store, some of which are slots of permits. It shows the holders of slots with the
 * ids of their clients.
 */
final class SlotAdmin implements StoreAdmin {

    private final LockStore store;

    SlotAdmin(LockStore store) {
        this.store = store;
    }

    @Override
    public CompletableFuture<Optional<HeldLock>> describe(LockName name) {
        return store.admin().describe(name).thenApply(found -> found.map(SlotLock::unmarked));
    }

    @Override
    public CompletableFuture<List<HeldLock>> list(String glob, int limit) {
        return store.admin()
                .list(glob, limit)
                .thenApply(found -> found.stream().map(SlotLock::unmarked).toList());
    }

    /** Attempts on permits wait in no queue. */
    @Override
    public CompletableFuture<List<QueuedWaiter>> waiters(LockName name, int limit) {
        return name.isPermits()
                ? CompletableFuture.completedFuture(List.of())
                : store.admin().waiters(name, limit);
    }

    @Override
    public CompletableFuture<List<Holder>> readers(LockName name, int limit) {
        return store.admin().readers(name, limit);
    }

    @Override
    public CompletableFuture<Boolean> forceRelease(LockName name, @Nullable String holderId) {
        if (holderId == null || SlotLock.read(name).isEmpty()) {
            return store.admin().forceRelease(name, holderId);
        }
        return storedId(store, name, holderId)
                .thenCompose(stored -> store.admin().forceRelease(name, stored.orElse(holderId)));
    }

    /**
     * The id under which the store keeps the holder of a permit, with the count that it states; empty if the slot is free,
     * or held by another client or as a lock.
     *
     * @param holderId the id of the client, or null for any
     */
    static CompletableFuture<Optional<String>> storedId(LockStore store, LockName lock, @Nullable String holderId) {
        return store.admin()
                .describe(lock)
                .thenApply(found -> found.map(HeldLock::holder)
                        .filter(one -> SlotLock.countOf(one).isPresent())
                        .filter(one ->
                                holderId == null || SlotLock.unmarked(one).id().equals(holderId))
                        .map(Holder::id));
    }
}
