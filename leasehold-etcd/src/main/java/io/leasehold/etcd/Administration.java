package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.options.GetOption;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.Waiter;
import io.leasehold.spi.Glob;
import io.leasehold.spi.LockRecord;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.TimeLimit;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What operators ask of the cluster, and what a store checks before it is used. */
final class Administration {

    private static final long LIMIT_NANOS = Duration.ofSeconds(10).toNanos();
    private static final String BASE = "tokenBase=";

    private final EtcdUri uri;
    private final LockRuntime runtime;
    private final Etcd etcd;
    private final Keys keys;
    private final Heads heads;
    private final Failures failures;

    Administration(EtcdUri uri, LockRuntime runtime, Etcd etcd, Keys keys, Heads heads, Failures failures) {
        this.uri = uri;
        this.runtime = runtime;
        this.etcd = etcd;
        this.keys = keys;
        this.heads = heads;
        this.failures = failures;
    }

    private <T> CompletableFuture<T> inTime(String what, Supplier<CompletableFuture<T>> work) {
        return TimeLimit.orFail(
                runtime,
                LIMIT_NANOS,
                work,
                error -> failures.of(what, error).error(),
                () -> failures.late(what, LIMIT_NANOS));
    }

    // ---- before use

    /** Connects, and makes sure that the tokens of all clients of this prefix have the same base. */
    void verify() {
        CompletableFuture<Boolean> verified = inTime("connecting", this::checkBase);
        try {
            runtime.await(verified);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new StoreUnavailableException("interrupted while connecting to " + uri, e);
        }
        try {
            verified.join();
        } catch (CompletionException e) {
            throw Failures.unwrapped(e) instanceof LockStoreException known
                    ? known
                    : new StoreUnavailableException("connecting to " + uri + " failed: " + e.getCause(), e);
        }
    }

    private CompletableFuture<Boolean> checkBase() {
        String base = BASE + uri.tokenBase();
        return etcd.get(keys.tokens()).thenCompose(found -> {
            if (found.isPresent()) {
                compareBase(base, found.get().getValue().toString(StandardCharsets.UTF_8));
                return CompletableFuture.completedFuture(true);
            }
            return etcd.putIfAbsent(keys.tokens(), Keys.bytes(base))
                    .thenCompose(written -> written ? CompletableFuture.completedFuture(true) : checkBase());
        });
    }

    private void compareBase(String base, String found) {
        if (!found.equals(base)) {
            throw new UnsafeStoreException(
                    "tokenBase is " + uri.tokenBase() + " in the store URI, but key " + uri.prefix() + "@tokens at "
                            + uri
                            + " says \"" + found + "\": with two bases, tokens of one lock would not increase. Use the"
                            + " same base in all clients; to raise it, stop them all, change the key, and start them with"
                            + " the new one",
                    null);
        }
    }

    // ---- owners that are not known here

    /** Removes what this owner token has; whether it held one of the locks. */
    CompletableFuture<Boolean> removeOwner(List<LockName> names, OwnerToken owner) {
        CompletableFuture<Boolean> all = CompletableFuture.completedFuture(false);
        for (LockName name : names) {
            all = all.thenCompose(before -> removeOwner(name, owner).thenApply(held -> before || held));
        }
        return all;
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
                return etcd.leave(key, own.getCreateRevision(), keys.released()).thenApply(left -> {
                    etcd.revoke(own.getLease());
                    return left && head;
                });
            });
        });
    }

    /** Extends what another client of this owner token holds: the lease of its key. */
    CompletableFuture<Optional<Etcd.Leased>> keepAlive(LockName name, OwnerToken owner) {
        ByteSequence key = keys.of(name, owner);
        return first(name)
                .thenCompose(first -> first.filter(head -> head.getKey().equals(key))
                        .map(head -> etcd.keepAlive(head.getLease()))
                        .orElseGet(() -> CompletableFuture.completedFuture(Optional.empty())));
    }

    private CompletableFuture<Optional<KeyValue>> first(LockName name) {
        return etcd.get(keys.queue(name), Etcd.first()).thenApply(Etcd::only);
    }

    // ---- looking

    CompletableFuture<Optional<LockRecord>> describe(LockName name) {
        return inTime(
                "inspection of \"" + name + "\"",
                () -> first(name)
                        .thenCompose(first -> first.isEmpty()
                                ? CompletableFuture.completedFuture(Optional.empty())
                                : record(name, first.get())));
    }

    private CompletableFuture<Optional<LockRecord>> record(LockName name, KeyValue head) {
        return heads.withTime(head).thenApply(holder -> holder.map(found -> new LockRecord(name, found)));
    }

    /** Whoever stands behind the first. */
    CompletableFuture<List<Waiter>> waiters(LockName name, int limit) {
        return inTime(
                "list of the waiters of \"" + name + "\"",
                () -> etcd.get(keys.queue(name), Etcd.inOrder(limit + 1L))
                        .thenApply(found -> found.getKvs().stream()
                                .skip(1)
                                .map(waiter -> new Waiter(heads.holder(waiter).id(), null))
                                .toList()));
    }

    CompletableFuture<List<LockRecord>> list(String glob, int limit) {
        Glob wanted = Glob.of(glob);
        GetOption everything = GetOption.builder().isPrefix(true).build();
        return inTime(
                "list of locks",
                () -> etcd.get(keys.all(), everything).thenCompose(found -> {
                    Map<LockName, KeyValue> firsts = new TreeMap<>();
                    for (KeyValue one : found.getKvs()) {
                        keys.lockOf(one.getKey())
                                .filter(wanted::matches)
                                .ifPresent(name -> firsts.merge(
                                        name, one, (a, b) -> a.getCreateRevision() < b.getCreateRevision() ? a : b));
                    }
                    return records(firsts.entrySet().stream().limit(limit).toList());
                }));
    }

    private CompletableFuture<List<LockRecord>> records(List<Map.Entry<LockName, KeyValue>> firsts) {
        List<CompletableFuture<Optional<LockRecord>>> asked = firsts.stream()
                .map(first -> record(first.getKey(), first.getValue()))
                .toList();
        return CompletableFuture.allOf(asked.toArray(CompletableFuture[]::new))
                .thenApply(nothing ->
                        asked.stream().flatMap(one -> one.join().stream()).toList());
    }

    // ---- repairing

    /** Deletes the first key of the queue; the next one holds then, with a larger token. */
    CompletableFuture<Boolean> forceRelease(LockName name, @Nullable String holderId) {
        return inTime(
                "forced release of \"" + name + "\"",
                () -> first(name).thenCompose(first -> {
                    boolean wanted = first.map(head -> heads.holder(head).id())
                            .filter(id -> holderId == null || id.equals(holderId))
                            .isPresent();
                    return wanted
                            ? etcd.delete(first.get().getKey(), first.get().getCreateRevision())
                            : CompletableFuture.completedFuture(false);
                }));
    }
}
