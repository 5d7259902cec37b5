package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.leasehold.LockName;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.toolkit.EntryData;
import io.leasehold.spi.toolkit.InTurn;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The queues of locks as any client sees them: the keys that hold and wait, and those of owner tokens that this client
 * does not know.
 *
 * <p>Immutable; safe for use by any thread.
 */
final class EtcdQueues {

    /** The keys in one answer: an answer may have 4 MB, and a key with its value some kilobytes. */
    static final int PAGE = 500;

    /** The key of an owner token, and whether no other keeps it from holding. */
    private record Owned(KeyValue key, boolean holds) {}

    private final EtcdCalls etcd;
    private final Keys keys;
    private final boolean hasTickets;

    /**
     * Creates the queues.
     *
     * @param hasTickets whether an owner token may have taken over the key of another one
     */
    EtcdQueues(EtcdCalls etcd, Keys keys, boolean hasTickets) {
        this.etcd = etcd;
        this.keys = keys;
        this.hasTickets = hasTickets;
    }

    // ---- the queue

    CompletableFuture<Optional<KeyValue>> first(LockName name) {
        return etcd.first(keys.queue(name));
    }

    /** The keys with which readers hold the lock, in their order: those before the first of a writer. */
    CompletableFuture<List<KeyValue>> readers(LockName name) {
        List<KeyValue> found = new ArrayList<>();
        return walk(keys.queue(name), () -> PAGE, 0, key -> QueueHeads.isReader(key) && found.add(key))
                .thenApply(nothing -> found);
    }

    /** The keys that wait, in their order, at most so many. */
    CompletableFuture<List<KeyValue>> waiters(LockName name, int limit) {
        Waiters found = new Waiters(limit);
        return walk(keys.queue(name), found::page, 0, found).thenApply(nothing -> found.waiting);
    }

    /** Collects the keys behind those that hold: behind the first, or behind the first ones if these are readers. */
    private static final class Waiters implements Predicate<KeyValue> {
        private final List<KeyValue> waiting = new ArrayList<>();
        private final int limit;
        private @Nullable Boolean readersHold;

        Waiters(int limit) {
            this.limit = limit;
        }

        /** The number of keys to read next: no more than are still wanted, unless readers that hold come first. */
        int page() {
            if (readersHold == null) {
                return (int) Math.min(PAGE, limit + 1L);
            }
            return readersHold ? PAGE : Math.min(PAGE, limit - waiting.size());
        }

        @Override
        public boolean test(KeyValue key) {
            if (readersHold == null) {
                readersHold = QueueHeads.isReader(key);
                return true;
            }
            readersHold = readersHold && QueueHeads.isReader(key);
            return readersHold || (waiting.add(key) && waiting.size() < limit);
        }
    }

    /** Reads a queue in its order, page by page, until this returns false. */
    private CompletableFuture<Boolean> walk(
            ByteSequence queue, IntSupplier pages, long fromRevision, Predicate<KeyValue> goOn) {
        int page = pages.getAsInt();
        return etcd.inOrder(queue, page, fromRevision).thenCompose(found -> {
            boolean more = found.size() == page;
            for (KeyValue one : found) {
                if (!goOn.test(one)) {
                    return CompletableFuture.completedFuture(false);
                }
            }
            return more
                    ? walk(queue, pages, found.get(page - 1).getCreateRevision() + 1, goOn)
                    : CompletableFuture.completedFuture(true);
        });
    }

    // ---- owners that this client does not know

    /** Removes the keys of this owner token; completes with whether it held one of the locks. */
    CompletableFuture<Boolean> removeOwner(List<LockName> names, OwnerToken owner) {
        return InTurn.any(
                names,
                name -> (name.isRead() ? reader(name, owner) : writer(name, owner))
                        .thenCompose(found ->
                                found.map(this::remove).orElseGet(() -> CompletableFuture.completedFuture(false))));
    }

    private CompletableFuture<Optional<Owned>> writer(LockName name, OwnerToken owner) {
        ByteSequence key = keys.of(name, owner);
        return etcd.get(key).thenCompose(found -> {
            Optional<KeyValue> own = found.filter(one -> isWriter(one, key, owner));
            if (own.isEmpty()) {
                return takenOver(name, owner).thenApply(first -> first.map(one -> new Owned(one, true)));
            }
            return first(name)
                    .thenApply(first -> Optional.of(new Owned(
                            own.get(),
                            first.filter(other -> other.getKey().equals(key)).isPresent())));
        });
    }

    /** Whether this owner token is the writer of the key: it has made it, or has taken it over. */
    private static boolean isWriter(KeyValue one, ByteSequence key, OwnerToken owner) {
        EntryData data = QueueHeads.data(one);
        boolean isMaker = data.writer() == null && one.getKey().equals(key);
        return !data.isReader() && (isMaker || data.isTakenOverBy(owner));
    }

    /** The key that holds the lock, if this owner token has taken it over. */
    CompletableFuture<Optional<KeyValue>> takenOver(LockName name, OwnerToken owner) {
        return hasTickets
                ? first(name)
                        .thenApply(first ->
                                first.filter(one -> QueueHeads.data(one).isTakenOverBy(owner)))
                : CompletableFuture.completedFuture(Optional.empty());
    }

    /** Searches the queue, since the key of a reader that was a writer has the name of that writer. */
    private CompletableFuture<Optional<Owned>> reader(LockName name, OwnerToken owner) {
        List<Owned> found = new ArrayList<>(1);
        boolean[] holds = {true};
        return walk(keys.queue(name), () -> PAGE, 0, key -> {
                    if (QueueHeads.data(key).isReader(owner)) {
                        found.add(new Owned(key, holds[0]));
                    }
                    holds[0] &= QueueHeads.isReader(key);
                    return found.isEmpty();
                })
                .thenApply(nothing -> found.stream().findFirst());
    }

    private CompletableFuture<Boolean> remove(Owned own) {
        return etcd.delete(own.key().getKey(), own.key().getCreateRevision()).thenApply(left -> {
            if (left) {
                etcd.revoke(own.key().getLease());
            } // Else its client has removed it, and the lease may keep the key of another attempt by now.
            return left && own.holds();
        });
    }

    /** Extends a hold of another client with this owner token, through the lease of its key. */
    CompletableFuture<Optional<EtcdCalls.Leased>> keepAlive(LockName name, OwnerToken owner) {
        ByteSequence key = keys.of(name, owner);
        CompletableFuture<Optional<KeyValue>> held = name.isRead()
                ? reader(name, owner)
                        .thenApply(found -> found.filter(Owned::holds).map(Owned::key))
                : first(name).thenApply(first -> first.filter(head -> isWriter(head, key, owner)));
        return held.thenCompose(own -> own.isEmpty()
                ? CompletableFuture.completedFuture(Optional.empty())
                : etcd.keepAlive(own.get().getLease()).thenCompose(kept -> ifStill(own.get(), name, kept)));
    }

    /**
     * Checks that the key still exists. A lease outlives its key: the extended lease may keep no key, or the key of
     * another attempt.
     */
    private CompletableFuture<Optional<EtcdCalls.Leased>> ifStill(
            KeyValue own, LockName name, Optional<EtcdCalls.Leased> kept) {
        return etcd.look(own.getKey(), own.getCreateRevision(), keys.queue(name), 1)
                .thenApply(found -> kept.filter(leased -> found.isThere()));
    }
}
