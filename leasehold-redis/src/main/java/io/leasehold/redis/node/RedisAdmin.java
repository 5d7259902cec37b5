package io.leasehold.redis.node;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.NameGlob;
import io.leasehold.redis.wire.ReplyDecoder;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.spi.StoreAdmin;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Inspects the locks of one node and releases a lock by force.
 *
 * <p>Futures fail with {@link io.leasehold.LockStoreException}. Listing scans the whole key space in small steps and
 * keeps no more names than requested.
 */
final class RedisAdmin implements StoreAdmin {

    private static final int KEYS_PER_STEP = 100;
    private static final int INSPECTIONS_AT_ONCE = 20;
    /**
     * The most changes of the holder during a forced release. After that, the lock is removed from its current holder,
     * which detects the loss by itself.
     */
    private static final int MAX_LOOKS = 5;
    /** The most waiters in an answer, since a script blocks all other clients. */
    private static final int WAITERS_AT_ONCE = 1_000;

    private final Requests requests;
    private final ReplyDecoder decoder;
    private final NodeSettings settings;
    private final KeyScan scan;
    private final @Nullable TellTaken tellTaken;
    private final @Nullable RedisReaders readers;

    /** Notifies a holder that its lock was removed. */
    @FunctionalInterface
    interface TellTaken {
        /** Notifies the holder. The future completes after the notification succeeded or failed. */
        CompletableFuture<?> tell(LockName lock, String holderId);
    }

    /**
     * Creates the administration of a node.
     *
     * @param tellTaken null for plain locks, whose holders keep no record for notifications and whose waiters do not
     *     queue
     * @param readers null if the node keeps no readers
     */
    RedisAdmin(
            Requests requests,
            ReplyDecoder decoder,
            NodeSettings settings,
            KeyScan scan,
            @Nullable TellTaken tellTaken,
            @Nullable RedisReaders readers) {
        this.scan = scan;
        this.readers = readers;
        this.tellTaken = tellTaken;
        this.requests = requests;
        this.decoder = decoder;
        this.settings = settings;
    }

    @Override
    public CompletableFuture<Optional<HeldLock>> describe(LockName name) {
        if (settings.keys().refusal(name) != null) {
            // No client of this store can hold it.
            return CompletableFuture.completedFuture(Optional.empty());
        }
        return requests.runOrThrow(
                new Requests.Subject("inspect", name),
                new ScriptCall(LuaScript.INSPECT, new String[] {settings.keys().lock(name)}, new String[0]),
                (reply, link) -> decoder.inspect(reply, name));
    }

    @Override
    public CompletableFuture<List<QueuedWaiter>> waiters(LockName name, int limit) {
        if (tellTaken == null || settings.keys().refusal(name) != null) {
            return CompletableFuture.completedFuture(List.of());
        }
        Requests.Subject subject = new Requests.Subject("list the waiters of", name);
        return requests.runOrThrow(
                subject,
                new ScriptCall(
                        LuaScript.WAITERS,
                        KeyLayout.queueKeys(settings.keys().lock(name)),
                        new String[] {Integer.toString(Math.min(limit, WAITERS_AT_ONCE))}),
                (reply, link) -> decoder.waiters(reply, subject.toString()));
    }

    @Override
    public CompletableFuture<List<Holder>> readers(LockName name, int limit) {
        RedisReaders shared = readers;
        return shared == null ? CompletableFuture.completedFuture(List.of()) : shared.list(name, limit);
    }

    @Override
    public CompletableFuture<Boolean> forceRelease(LockName name, @Nullable String holderId) {
        if (name.isRead()) {
            return removeReaders(name, holderId);
        } else if (holderId != null || tellTaken == null) {
            return take(name, holderId);
        }
        return takeFromAnybody(name, 1);
    }

    private CompletableFuture<Boolean> removeReaders(LockName name, @Nullable String holderId) {
        RedisReaders shared = readers;
        return shared == null ? CompletableFuture.completedFuture(false) : shared.remove(name, holderId);
    }

    /**
     * Removes the lock from the holder that it reads, since the notified holder must be the one that lost the lock. If
     * the holder has changed meanwhile, it reads again.
     */
    private CompletableFuture<Boolean> takeFromAnybody(LockName name, int look) {
        return describe(name).thenCompose(held -> {
            String holderId = held.map(one -> one.holder().id()).orElse("");
            if (holderId.isEmpty() || look > MAX_LOOKS) {
                return take(name, null);
            }
            return take(name, holderId)
                    .thenCompose(removed ->
                            removed ? CompletableFuture.completedFuture(true) : takeFromAnybody(name, look + 1));
        });
    }

    /** Removes the lock from this holder, or from any, and notifies a holder that is known. */
    private CompletableFuture<Boolean> take(LockName name, @Nullable String holderId) {
        if ((holderId != null && holderId.isEmpty()) || settings.keys().refusal(name) != null) {
            // On the wire an empty holder id means any holder. A name without a key has no holder.
            return CompletableFuture.completedFuture(false);
        }
        return requests.runOrThrow(
                        new Requests.Subject("take away", name),
                        new ScriptCall(
                                LuaScript.FORCE_RELEASE,
                                KeyLayout.allOf(settings.keys().lock(name)),
                                new String[] {holderId == null ? "" : holderId}),
                        (reply, link) -> decoder.forceRelease(reply, name))
                .thenCompose(taken -> switch (taken) {
                    case REMOVED -> tell(name, holderId);
                    case NONE -> CompletableFuture.completedFuture(false);
                    case READERS -> removeReaders(name, holderId);
                });
    }

    private CompletableFuture<Boolean> tell(LockName name, @Nullable String holderId) {
        TellTaken telling = tellTaken;
        return telling == null || holderId == null
                ? CompletableFuture.completedFuture(true)
                : telling.tell(name, holderId).thenApply(told -> true);
    }

    @Override
    public CompletableFuture<List<HeldLock>> list(String glob, int limit) {
        if (limit <= 0) {
            return CompletableFuture.completedFuture(List.of());
        }
        Listing listing = new Listing(glob, settings.keys(), limit);
        return scan.of("list locks", listing.pattern.keyPattern(), KEYS_PER_STEP, found -> {
                    listing.add(found);
                    return CompletableFuture.completedFuture(null);
                })
                .thenCompose(done -> inspect(List.copyOf(listing.names), 0, new ArrayList<>()));
    }

    /** The first of the names found so far. Only one step of the scan uses it at a time. */
    private static final class Listing {
        private final KeyLayout keys;
        private final NameGlob pattern;
        private final int limit;
        private final NavigableSet<LockName> names = new TreeSet<>();

        private Listing(String glob, KeyLayout keys, int limit) {
            this.keys = keys;
            this.pattern = new NameGlob(glob, keys);
            this.limit = limit;
        }

        private void add(List<String> found) {
            for (String key : found) {
                LockName name = keys.nameOf(key);
                if (name != null && pattern.matches(name)) {
                    names.add(name);
                    if (names.size() > limit) {
                        names.pollLast();
                    }
                }
            }
        }
    }

    private CompletableFuture<List<HeldLock>> inspect(List<LockName> names, int from, List<HeldLock> found) {
        if (from >= names.size()) {
            return CompletableFuture.completedFuture(found);
        }
        int to = Math.min(names.size(), from + INSPECTIONS_AT_ONCE);
        List<CompletableFuture<Optional<HeldLock>>> records =
                names.subList(from, to).stream().map(this::describe).toList();
        return CompletableFuture.allOf(records.toArray(CompletableFuture<?>[]::new))
                .thenCompose(done -> {
                    records.forEach(record -> record.join().ifPresent(found::add));
                    return inspect(names, to, found);
                });
    }
}
