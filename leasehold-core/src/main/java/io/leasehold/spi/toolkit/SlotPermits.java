package io.leasehold.spi.toolkit;

import io.leasehold.LockName;
import io.leasehold.UnsafeStoreException;
import io.leasehold.admin.LockAdmin;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StorePermits;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The operations on permits whose slots are exclusive locks of the store, which keeps no count. */
final class SlotPermits implements StorePermits {

    private final LockStore store;

    SlotPermits(LockStore store) {
        this.store = store;
    }

    @Override
    public boolean keepsCount() {
        return false;
    }

    @Override
    public Optional<LockName> lockOf(LockName name, int slot) {
        return Optional.of(new SlotLock(name, slot).name());
    }

    @Override
    public CompletableFuture<Optional<PermitsStatus>> describe(LockName name) {
        // If the name contains a wildcard, the store lists more than its slots.
        return held(name.text(), name.asPermits()::equals)
                .thenApply(found -> found.stream().findFirst());
    }

    @Override
    public CompletableFuture<List<PermitsStatus>> list(String glob, int limit) {
        return held(glob, Glob.of(glob)::matches)
                .thenApply(found -> found.stream().limit(limit).toList());
    }

    /** Reads the held permits of the names that match the glob and pass the filter. */
    private CompletableFuture<List<PermitsStatus>> held(String glob, Predicate<LockName> wanted) {
        return store.admin()
                .list(glob + "#*", LockAdmin.MAX_LEAK_CANDIDATES)
                .thenApply(found -> statuses(found, wanted));
    }

    private static List<PermitsStatus> statuses(List<HeldLock> found, Predicate<LockName> wanted) {
        Map<LockName, List<HeldLock>> byName = new TreeMap<>();
        for (HeldLock held : found) {
            SlotLock.read(held.name())
                    .map(SlotLock::permits)
                    .filter(permits -> wanted.test(permits)
                            && SlotLock.countOf(held.holder()).isPresent())
                    .ifPresent(permits -> byName.computeIfAbsent(permits, name -> new ArrayList<>())
                            .add(held));
        }
        List<PermitsStatus> all = new ArrayList<>();
        byName.forEach((permits, slots) -> all.add(status(permits, slots)));
        return all;
    }

    private static PermitsStatus status(LockName permits, List<HeldLock> slots) {
        int count = slots.stream()
                .mapToInt(held -> SlotLock.countOf(held.holder()).orElse(0))
                .max()
                .orElse(0);
        List<PermitsStatus.HeldPermit> held = slots.stream()
                .map(lock -> new PermitsStatus.HeldPermit(
                        SlotLock.read(lock.name()).map(SlotLock::slot).orElseThrow(), SlotLock.unmarked(lock.holder())))
                .sorted(Comparator.comparingInt(PermitsStatus.HeldPermit::slot))
                .toList();
        return new PermitsStatus(permits, count, PermitsStatus.NO_COUNT, held);
    }

    @Override
    public CompletableFuture<Boolean> change(LockName name, int count, long version) {
        return CompletableFuture.failedFuture(new UnsafeStoreException(
                "permits \"" + name + "\": " + store.description() + " keeps no count, so no operator can change it;"
                        + " each client states it: start all clients with a count of " + count,
                null));
    }

    @Override
    public CompletableFuture<Boolean> forceRelease(LockName name, int slot, @Nullable String holderId) {
        if (slot < 0 || slot >= LockName.MAX_PERMITS) {
            return CompletableFuture.completedFuture(false);
        }
        LockName lock = new SlotLock(name, slot).name();
        return SlotAdmin.storedId(store, lock, holderId)
                .thenCompose(stored -> stored.isEmpty()
                        ? CompletableFuture.completedFuture(false)
                        : store.admin().forceRelease(lock, stored.get()));
    }
}
