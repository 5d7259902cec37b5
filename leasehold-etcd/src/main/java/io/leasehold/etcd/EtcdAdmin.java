package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.toolkit.Glob;
import io.leasehold.spi.toolkit.InTurn;
import io.leasehold.spi.toolkit.TimeLimit;
import io.leasehold.spi.toolkit.TimedReplies;
import io.leasehold.spi.toolkit.TokenBase;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Administrative operations, and the check of a store before it is used. */
final class EtcdAdmin implements StoreAdmin {

    private static final long LIMIT_NANOS = Duration.ofSeconds(10).toNanos();
    private static final long LIST_LIMIT_NANOS = Duration.ofSeconds(60).toNanos();
    /** The number of locks that are read at once. */
    private static final int AT_ONCE = 100;

    private final EtcdUri uri;
    private final LockRuntime runtime;
    private final EtcdCalls etcd;
    private final Keys keys;
    private final EtcdQueues queues;
    private final QueueHeads heads;
    private final TimedReplies replies;
    private final TokenBase base;

    EtcdAdmin(
            EtcdUri uri,
            LockRuntime runtime,
            EtcdCalls etcd,
            Keys keys,
            EtcdQueues queues,
            QueueHeads heads,
            TimedReplies replies) {
        this.uri = uri;
        this.runtime = runtime;
        this.etcd = etcd;
        this.keys = keys;
        this.queues = queues;
        this.heads = heads;
        this.replies = replies;
        this.base = uri.tokens();
    }

    // ---- before use

    /** Connects, and checks that the tokens of all clients of this prefix have the same base. */
    void verify() {
        verify(this::checkBase);
    }

    /** As {@link #verify}, but writes nothing: if no key has the prefix, there is no store. */
    void verifyExisting() {
        verify(this::checkExisting);
    }

    private void verify(Supplier<CompletableFuture<Boolean>> check) {
        TimeLimit.await(runtime, replies.orFail("connecting", LIMIT_NANOS, check), "connecting to " + uri);
    }

    private CompletableFuture<Boolean> checkBase() {
        return compareBase()
                .thenCompose(found -> found
                        ? CompletableFuture.completedFuture(true)
                        : etcd.putIfAbsent(keys.tokens(), Keys.bytes(base.text()))
                                .thenCompose(
                                        written -> written ? CompletableFuture.completedFuture(true) : checkBase()));
    }

    /** Compares the base if there is one; completes with whether there is. */
    private CompletableFuture<Boolean> compareBase() {
        return etcd.get(keys.tokens()).thenApply(found -> {
            if (found.isPresent()) {
                base.compare(found.get().getValue().toString(StandardCharsets.UTF_8), "key", uri.prefix() + "@tokens");
            }
            return found.isPresent();
        });
    }

    /** Other programs may keep locks below the prefix, which write no base. */
    private CompletableFuture<Boolean> checkExisting() {
        return compareBase()
                .thenCompose(found -> found
                        ? CompletableFuture.completedFuture(true)
                        : etcd.keysUntil(keys.all(), keys.endOfAll(), 1).thenApply(locks -> {
                            if (locks.isEmpty()) {
                                throw new StoreUnavailableException(
                                        "there is no store at " + uri + ": no lock was ever acquired there", null);
                            }
                            return true;
                        }));
    }

    // ---- looking

    @Override
    public CompletableFuture<Optional<HeldLock>> describe(LockName name) {
        return replies.orFail("inspection of \"" + name + "\"", LIMIT_NANOS, () -> head(name));
    }

    private CompletableFuture<Optional<HeldLock>> head(LockName name) {
        return queues.first(name)
                .thenCompose(first -> first.isEmpty()
                        ? CompletableFuture.completedFuture(Optional.empty())
                        : record(name, first.get()));
    }

    private CompletableFuture<Optional<HeldLock>> record(LockName name, KeyValue head) {
        CompletableFuture<Optional<Holder>> held = QueueHeads.isReader(head)
                ? queues.readers(name)
                        .thenCompose(found -> living(found, found.size()).thenApply(EtcdAdmin::together))
                : heads.withTime(head);
        return held.thenCompose(holder -> holder.isPresent()
                ? CompletableFuture.completedFuture(Optional.of(new HeldLock(name, holder.get())))
                : recordBehind(name, head));
    }

    private CompletableFuture<List<Holder>> living(List<KeyValue> readers, int limit) {
        return InTurn.some(readers, AT_ONCE, limit, heads::withTime);
    }

    /** Readers as one holder: until the last of them ends, with the largest token. */
    private static Optional<Holder> together(List<Holder> readers) {
        boolean isEndless = readers.stream().anyMatch(reader -> reader.ends() == Holder.Ends.NEVER);
        return readers.stream()
                .max(Comparator.comparingLong(reader -> reader.fencingToken().orElse(0)))
                .map(last -> new Holder(
                        Holder.READERS,
                        isEndless
                                ? null
                                : readers.stream()
                                        .map(Holder::remainingTtl)
                                        .filter(Objects::nonNull)
                                        .max(Comparator.naturalOrder())
                                        .orElse(null),
                        last.fencingToken(),
                        isEndless ? Holder.Ends.NEVER : Holder.Ends.BY_TTL));
    }

    /** Reads the next holder after the head has just ended. While a key outlives its lease, no client holds. */
    private CompletableFuture<Optional<HeldLock>> recordBehind(LockName name, KeyValue ended) {
        return queues.first(name)
                .thenCompose(first -> first.filter(head -> head.getCreateRevision() != ended.getCreateRevision())
                        .map(head -> record(name, head))
                        .orElseGet(() -> CompletableFuture.completedFuture(Optional.empty())));
    }

    @Override
    public CompletableFuture<List<Holder>> readers(LockName name, int limit) {
        return replies.orFail(
                "list of the readers of \"" + name + "\"",
                LIMIT_NANOS,
                () -> queues.readers(name).thenCompose(found -> living(found, limit)));
    }

    @Override
    public CompletableFuture<List<QueuedWaiter>> waiters(LockName name, int limit) {
        return replies.orFail(
                "list of the waiters of \"" + name + "\"",
                LIMIT_NANOS,
                () -> queues.waiters(name, limit)
                        .thenApply(found -> found.stream()
                                .map(waiter ->
                                        new QueuedWaiter(QueueHeads.data(waiter).holderId(), null))
                                .toList()));
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
        return etcd.keysUntil(from, keys.endOfAll(), EtcdQueues.PAGE).thenCompose(page -> {
            for (KeyValue one : page) {
                keys.lockOf(one.getKey()).filter(wanted::matches).ifPresent(found::add);
                if (found.size() > limit) {
                    found.pollLast();
                }
            }
            return page.size() < EtcdQueues.PAGE
                    ? CompletableFuture.completedFuture(found)
                    : names(wanted, limit, keys.after(page.get(page.size() - 1).getKey()), found);
        });
    }

    // ---- repairing

    /** Deletes the keys that hold the lock. Then the next ones in the queue hold, with larger tokens. */
    @Override
    public CompletableFuture<Boolean> forceRelease(LockName name, @Nullable String holderId) {
        return replies.orFail("forced release of \"" + name + "\"", LIMIT_NANOS, () -> deleteHead(name, holderId));
    }

    private CompletableFuture<Boolean> deleteHead(LockName name, @Nullable String holderId) {
        return queues.first(name).thenCompose(first -> {
            if (first.isEmpty()) {
                return CompletableFuture.completedFuture(false);
            }
            return QueueHeads.isReader(first.get())
                    ? queues.readers(name).thenCompose(readers -> deleteReaders(name, readers, holderId))
                    : deleteAll(name, List.of(first.get()), holderId, holderId);
        });
    }

    private CompletableFuture<Boolean> deleteReaders(LockName name, List<KeyValue> readers, @Nullable String holderId) {
        return deleteAll(name, readers, Holder.READERS.equals(holderId) ? null : holderId, holderId);
    }

    /** Deletes those of the keys that hold the lock with this holder id; without one, all of them. */
    private CompletableFuture<Boolean> deleteAll(
            LockName name, List<KeyValue> holding, @Nullable String id, @Nullable String wanted) {
        List<KeyValue> meant = holding.stream()
                .filter(key -> id == null || QueueHeads.data(key).holderId().equals(id))
                .toList();
        if (meant.isEmpty() && !holding.isEmpty()) {
            return CompletableFuture.completedFuture(false);
        }
        // If they have left by themselves, the next ones hold.
        return InTurn.any(meant, key -> etcd.delete(key.getKey(), key.getCreateRevision()))
                .thenCompose(deleted -> deleted ? CompletableFuture.completedFuture(true) : deleteHead(name, wanted));
    }
}
