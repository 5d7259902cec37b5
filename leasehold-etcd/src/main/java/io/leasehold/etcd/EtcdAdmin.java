package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.toolkit.Glob;
import io.leasehold.spi.toolkit.InTurn;
import io.leasehold.spi.toolkit.TimeLimit;
import io.leasehold.spi.toolkit.TimedReplies;
import io.leasehold.spi.toolkit.TokenBase;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Administrative operations, and the check of a store before it is used. */
final class EtcdAdmin implements StoreAdmin {

    private static final long LIMIT_NANOS = Duration.ofSeconds(10).toNanos();
    private static final long LIST_LIMIT_NANOS = Duration.ofSeconds(60).toNanos();
    /** The keys in one answer: an answer may have 4 MB, and a key with its value some kilobytes. */
    private static final int PAGE = 500;
    /** The number of locks that are read at once. */
    private static final int AT_ONCE = 100;

    private final EtcdUri uri;
    private final LockRuntime runtime;
    private final EtcdCalls etcd;
    private final Keys keys;
    private final QueueHeads heads;
    private final TimedReplies replies;
    private final TokenBase base;

    EtcdAdmin(EtcdUri uri, LockRuntime runtime, EtcdCalls etcd, Keys keys, QueueHeads heads, TimedReplies replies) {
        this.uri = uri;
        this.runtime = runtime;
        this.etcd = etcd;
        this.keys = keys;
        this.heads = heads;
        this.replies = replies;
        this.base = new TokenBase(uri.tokenBase(), uri.toString());
    }

    // ---- before use

    /** Connects, and checks that the tokens of all clients of this prefix have the same base. */
    void verify() {
        TimeLimit.await(runtime, replies.orFail("connecting", LIMIT_NANOS, this::checkBase), "connecting to " + uri);
    }

    private CompletableFuture<Boolean> checkBase() {
        return etcd.get(keys.tokens()).thenCompose(found -> {
            if (found.isPresent()) {
                base.compare(found.get().getValue().toString(StandardCharsets.UTF_8), "key", uri.prefix() + "@tokens");
                return CompletableFuture.completedFuture(true);
            }
            return etcd.putIfAbsent(keys.tokens(), Keys.bytes(base.text()))
                    .thenCompose(written -> written ? CompletableFuture.completedFuture(true) : checkBase());
        });
    }

    // ---- owners that this client does not know

    /** Removes the keys of this owner token; completes with whether it held one of the locks. */
    CompletableFuture<Boolean> removeOwner(List<LockName> names, OwnerToken owner) {
        return InTurn.any(names, name -> removeOwner(name, owner));
    }

    private CompletableFuture<Boolean> removeOwner(LockName name, OwnerToken owner) {
        ByteSequence key = keys.of(name, owner);
        return etcd.get(key).thenCompose(found -> {
            if (found.isEmpty()) {
                return CompletableFuture.completedFuture(false);
            }
            KeyValue own = found.get();
            return first(name).thenCompose(first -> {
                boolean head = first.filter(other -> other.getKey().equals(key)).isPresent();
                return etcd.delete(key, own.getCreateRevision()).thenApply(left -> {
                    if (left) {
                        etcd.revoke(own.getLease());
                    } // Else its client has removed it, and the lease may keep the key of another attempt by now.
                    return left && head;
                });
            });
        });
    }

    /** Extends a hold of another client with this owner token, through the lease of its key. */
    CompletableFuture<Optional<EtcdCalls.Leased>> keepAlive(LockName name, OwnerToken owner) {
        ByteSequence key = keys.of(name, owner);
        return first(name)
                .thenCompose(first -> first.filter(head -> head.getKey().equals(key))
                        .map(head -> etcd.keepAlive(head.getLease()).thenCompose(kept -> ifStill(head, name, kept)))
                        .orElseGet(() -> CompletableFuture.completedFuture(Optional.empty())));
    }

    /**
     * Checks that the key still exists. A lease outlives its key: the extended lease may keep no key, or the key of
     * another attempt.
     */
    private CompletableFuture<Optional<EtcdCalls.Leased>> ifStill(
            KeyValue head, LockName name, Optional<EtcdCalls.Leased> kept) {
        return etcd.look(head.getKey(), head.getCreateRevision(), keys.queue(name))
                .thenApply(found -> kept.filter(leased -> found.isThere()));
    }

    private CompletableFuture<Optional<KeyValue>> first(LockName name) {
        return etcd.first(keys.queue(name));
    }

    // ---- looking

    @Override
    public CompletableFuture<Optional<HeldLock>> describe(LockName name) {
        return replies.orFail("inspection of \"" + name + "\"", LIMIT_NANOS, () -> head(name));
    }

    private CompletableFuture<Optional<HeldLock>> head(LockName name) {
        return first(name)
                .thenCompose(first -> first.isEmpty()
                        ? CompletableFuture.completedFuture(Optional.empty())
                        : record(name, first.get()));
    }

    private CompletableFuture<Optional<HeldLock>> record(LockName name, KeyValue head) {
        return heads.withTime(head)
                .thenCompose(holder -> holder.isPresent()
                        ? CompletableFuture.completedFuture(Optional.of(new HeldLock(name, holder.get())))
                        : recordBehind(name, head));
    }

    /** Reads the next holder after the head has just ended. While a key outlives its lease, no client holds. */
    private CompletableFuture<Optional<HeldLock>> recordBehind(LockName name, KeyValue ended) {
        return first(name)
                .thenCompose(first -> first.filter(head -> head.getCreateRevision() != ended.getCreateRevision())
                        .map(head -> record(name, head))
                        .orElseGet(() -> CompletableFuture.completedFuture(Optional.empty())));
    }

    /** The entries behind the first. */
    @Override
    public CompletableFuture<List<QueuedWaiter>> waiters(LockName name, int limit) {
        return replies.orFail(
                "list of the waiters of \"" + name + "\"",
                LIMIT_NANOS,
                () -> inOrder(keys.queue(name), 0, limit + 1L, new ArrayList<>())
                        .thenApply(found -> found.stream()
                                .skip(1)
                                .map(waiter ->
                                        new QueuedWaiter(heads.holder(waiter).id(), null))
                                .toList()));
    }

    private CompletableFuture<List<KeyValue>> inOrder(
            ByteSequence queue, long fromRevision, long most, List<KeyValue> found) {
        long page = Math.min(PAGE, most - found.size());
        return etcd.inOrder(queue, page, fromRevision).thenCompose(next -> {
            found.addAll(next);
            return next.size() < page || found.size() >= most
                    ? CompletableFuture.completedFuture(found)
                    : inOrder(queue, next.get(next.size() - 1).getCreateRevision() + 1, most, found);
        });
    }

    /**
     * The held locks. They are read in pages, because all keys may not fit into one answer. All pages are read, because
     * names are not in the order of their keys.
     */
    @Override
    public CompletableFuture<List<HeldLock>> list(String glob, int limit) {
        Glob wanted = Glob.of(glob);
        return replies.orFail(
                "list of locks",
                LIST_LIMIT_NANOS,
                () -> names(wanted, limit, keys.all(), new TreeSet<>())
                        .thenCompose(names -> InTurn.some(List.copyOf(names), AT_ONCE, limit, this::head)));
    }

    /** The first matching names of the keys from this one on. */
    private CompletableFuture<NavigableSet<LockName>> names(
            Glob wanted, int limit, ByteSequence from, NavigableSet<LockName> found) {
        return etcd.keysUntil(from, keys.endOfAll(), PAGE).thenCompose(page -> {
            for (KeyValue one : page) {
                keys.lockOf(one.getKey()).filter(wanted::matches).ifPresent(found::add);
                if (found.size() > limit) {
                    found.pollLast();
                }
            }
            return page.size() < PAGE
                    ? CompletableFuture.completedFuture(found)
                    : names(wanted, limit, keys.after(page.get(page.size() - 1).getKey()), found);
        });
    }

    // ---- repairing

    /** Deletes the first key of the queue. Then the next one holds, with a larger token. */
    @Override
    public CompletableFuture<Boolean> forceRelease(LockName name, @Nullable String holderId) {
        return replies.orFail("forced release of \"" + name + "\"", LIMIT_NANOS, () -> deleteHead(name, holderId));
    }

    private CompletableFuture<Boolean> deleteHead(LockName name, @Nullable String holderId) {
        return first(name).thenCompose(first -> {
            if (first.isEmpty()
                    || (holderId != null && !heads.holder(first.get()).id().equals(holderId))) {
                return CompletableFuture.completedFuture(false);
            }
            // If the head has left by itself, the next key holds.
            return etcd.delete(first.get().getKey(), first.get().getCreateRevision())
                    .thenCompose(
                            deleted -> deleted ? CompletableFuture.completedFuture(true) : deleteHead(name, holderId));
        });
    }
}
