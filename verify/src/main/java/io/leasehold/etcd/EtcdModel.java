package io.leasehold.etcd;

import com.google.protobuf.ByteString;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.common.exception.ErrorCode;
import io.etcd.jetcd.common.exception.EtcdExceptionFactory;
import io.leasehold.LockName;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.EntryData;
import io.leasehold.verify.queue.QueueFault;
import io.leasehold.verify.queue.QueueModel;
import io.leasehold.verify.queue.QueueRun;
import io.leasehold.verify.queue.QueueWire;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * A model of etcd with the parts that the store uses: revisions, leases, transactions and watches. One thread at a
 * time.
 */
public final class EtcdModel implements QueueModel {

    private static final long NANOS_PER_SECOND = 1_000_000_000L;
    private static final String ADDRESS = "etcd://model:2379/sim?electionTimeout=300ms";
    private static final EtcdUri URI = EtcdUri.parse(StoreUri.parse(ADDRESS));
    private static final EtcdUri WITH_READERS = EtcdUri.parse(StoreUri.parse(ADDRESS + "&readers=true"));
    private static final Keys KEYS = new Keys(URI.prefix());

    /** A request may be delayed in a member that lags behind. */
    private static final Duration LATEST = Duration.ofSeconds(2);

    private final QueueRun run;
    private final EtcdUri uri;
    private final Map<ByteSequence, Key> keys = new LinkedHashMap<>();
    private final Map<Long, LiveLease> leases = new LinkedHashMap<>();
    private final Map<ByteSequence, Long> deletedAt = new HashMap<>();
    private final Map<ByteSequence, Long> writtenAt = new HashMap<>();
    private final List<LiveWatch> watches = new ArrayList<>();
    private long revision = 1;
    private long leaseNumber = 100;
    private long uncertainUntilNanos;

    private record Key(ByteSequence key, ByteSequence value, long createRevision, long lease) {}

    private static final class LiveLease {
        private final long ttlNanos;
        private long expiresAtNanos;
        /** Whether it has kept a key. */
        private boolean used;

        LiveLease(long ttlNanos) {
            this.ttlNanos = ttlNanos;
        }
    }

    private record LiveWatch(QueueWire wire, ByteSequence key, boolean changes, Consumer<EtcdCalls.Heard> events) {}

    /** Creates an empty cluster. */
    public EtcdModel(QueueRun run, boolean hasReaders) {
        this.run = run;
        this.uri = hasReaders ? WITH_READERS : URI;
        this.uncertainUntilNanos = now();
    }

    private long now() {
        return run.host().nanoTime();
    }

    @Override
    public LockStore open(QueueWire wire) {
        return new EtcdStore(uri, wire.process(), new Calls(wire), false);
    }

    private List<Key> queue(ByteSequence prefix) {
        return keys.values().stream()
                .filter(key -> key.key().startsWith(prefix))
                .sorted(Comparator.comparingLong(Key::createRevision))
                .toList();
    }

    private static KeyValue shown(Key key) {
        return new KeyValue(
                io.etcd.jetcd.api.KeyValue.newBuilder()
                        .setKey(ByteString.copyFrom(key.key().getBytes()))
                        .setValue(ByteString.copyFrom(key.value().getBytes()))
                        .setCreateRevision(key.createRevision())
                        .setLease(key.lease())
                        .build(),
                ByteSequence.EMPTY);
    }

    private Optional<KeyValue> first(ByteSequence queue) {
        return queue(queue).stream().findFirst().map(EtcdModel::shown);
    }

    private EtcdCalls.Front front(ByteSequence queue, int most) {
        return new EtcdCalls.Front(
                queue(queue).stream().limit(most).map(EtcdModel::shown).toList(), revision);
    }

    /** Replaces a key that is there. */
    private void write(Key next) {
        putUnder(next.lease(), next.key());
        revision++;
        keys.put(next.key(), next);
        writtenAt.put(next.key(), revision);
        for (LiveWatch watch : List.copyOf(watches)) {
            if (watch.changes() && watch.key().equals(next.key())) {
                watch.wire().tell(() -> watch.events().accept(EtcdCalls.Heard.CHANGED));
            }
        }
    }

    private boolean isStill(ByteSequence key, long createRevision) {
        Key found = keys.get(key);
        return found != null && found.createRevision() == createRevision;
    }

    /**
     * Notes that a key is put under this lease, which must exist and keep no other key: the loss of one would lose the
     * other.
     */
    private void putUnder(long id, ByteSequence own) {
        LiveLease lease = leases.get(id);
        if (lease == null) {
            throw EtcdExceptionFactory.newEtcdException(ErrorCode.NOT_FOUND, "etcdserver: requested lease not found");
        }
        if (keys.values().stream()
                .anyMatch(key -> key.lease() == id && !key.key().equals(own))) {
            run.problem("lease: one keeps the keys of two attempts");
        }
        if (lease.used) {
            run.counted("leases used again");
        }
        lease.used = true;
    }

    private void remove(ByteSequence key) {
        if (keys.remove(key) == null) {
            return;
        }
        deletedAt.put(key, revision);
        for (LiveWatch watch : List.copyOf(watches)) {
            if (watch.key().equals(key)) {
                watch.wire().tell(() -> watch.events().accept(EtcdCalls.Heard.DELETED));
            }
        }
        watches.removeIf(watch -> watch.wire().isOver());
    }

    private boolean revoke(long id) {
        if (leases.remove(id) == null) {
            return false;
        }
        revision++;
        keys.values().stream()
                .filter(key -> key.lease() == id)
                .map(Key::key)
                .toList()
                .forEach(this::remove);
        return true;
    }

    private void awaitEnd(long id) {
        LiveLease lease = leases.get(id);
        if (lease != null) {
            // Checked twice a second.
            run.host().schedule(lease.expiresAtNanos - now() + run.world().randomBelow(500_000_000L), () -> {
                if (leases.get(id) == lease && lease.expiresAtNanos - now() <= 0) {
                    run.saw(QueueFault.EXPIRED);
                    revoke(id);
                } else {
                    awaitEnd(id);
                }
            });
        }
    }

    // ---- faults

    @Override
    public OptionalLong keptUntilNanos(String lock, long token) {
        List<Key> queue = queue(KEYS.queue(LockName.exactly(lock)));
        List<Key> holding = queue.stream()
                .takeWhile(key -> EntryData.read(key.value().getBytes()).isReader())
                .toList();
        return (holding.isEmpty() ? queue.stream().limit(1) : holding.stream())
                .filter(key -> uri.tokens()
                                .token(
                                        key.createRevision(),
                                        EntryData.read(key.value().getBytes()).generation())
                        == token)
                .findFirst()
                .map(key -> leases.get(key.lease()))
                .map(lease -> OptionalLong.of(run.host().worldNanosAfter(lease.expiresAtNanos - now())))
                .orElse(OptionalLong.empty());
    }

    @Override
    public void newLeader() {
        leases.values().forEach(lease -> lease.expiresAtNanos = now() + lease.ttlNanos);
        uncertainUntilNanos = now() + URI.electionTimeout().toNanos();
    }

    @Override
    public void breakWatches(QueueWire wire) {
        for (LiveWatch watch : List.copyOf(watches)) {
            if (watch.wire() == wire) {
                wire.tell(() -> watch.events().accept(EtcdCalls.Heard.BROKEN));
                if (run.isCalm() || run.world().chance(0.5)) {
                    watches.remove(watch);
                    wire.tell(() -> watch.events().accept(EtcdCalls.Heard.OVER));
                }
            }
        }
    }

    @Override
    public void forceRelease(String lock) {
        queue(KEYS.queue(LockName.exactly(lock))).stream().findFirst().ifPresent(key -> {
            revision++;
            remove(key.key());
        });
    }

    @Override
    public List<String> entries() {
        return keys.keySet().stream()
                .map(key -> key.toString(StandardCharsets.UTF_8))
                .toList();
    }

    // ---- the seam

    private final class Calls implements EtcdCalls {
        private final QueueWire wire;

        Calls(QueueWire wire) {
            this.wire = wire;
        }

        private <T> CompletableFuture<T> call(Callable<T> work) {
            return wire.call(
                    work,
                    () -> EtcdExceptionFactory.newEtcdException(ErrorCode.UNAVAILABLE, "the connection is broken"),
                    LATEST);
        }

        @Override
        public CompletableFuture<Integer> members() {
            return call(() -> 3);
        }

        @Override
        public CompletableFuture<Integer> silentMembers(LockRuntime runtime) {
            return call(() -> 0);
        }

        @Override
        public CompletableFuture<List<String>> alarms() {
            return call(List::of);
        }

        @Override
        public CompletableFuture<Leased> lease(long ttlSeconds) {
            return call(() -> {
                long id = ++leaseNumber;
                LiveLease lease = new LiveLease(ttlSeconds * NANOS_PER_SECOND);
                lease.expiresAtNanos = now() + lease.ttlNanos;
                leases.put(id, lease);
                awaitEnd(id);
                return new Leased(id, lease.ttlNanos);
            });
        }

        @Override
        public CompletableFuture<Optional<Leased>> keepAlive(long id) {
            return call(() -> {
                LiveLease lease = leases.get(id);
                if (lease == null) {
                    return Optional.empty();
                }
                if (uncertainUntilNanos - now() > 0 && run.world().chance(0.5)) {
                    run.saw(QueueFault.EXTENSION_LOST);
                } else {
                    lease.expiresAtNanos = now() + lease.ttlNanos;
                }
                return Optional.of(new Leased(id, lease.ttlNanos));
            });
        }

        @Override
        public CompletableFuture<Optional<Duration>> remaining(long id) {
            return call(() -> Optional.ofNullable(leases.get(id))
                    .map(lease -> Duration.ofNanos(Math.max(0, lease.expiresAtNanos - now()))));
        }

        @Override
        public CompletableFuture<Boolean> revoke(long id) {
            return call(() -> EtcdModel.this.revoke(id));
        }

        @Override
        public CompletableFuture<Optional<KeyValue>> get(ByteSequence key) {
            return call(() -> Optional.ofNullable(keys.get(key)).map(EtcdModel::shown));
        }

        @Override
        public CompletableFuture<Optional<KeyValue>> first(ByteSequence queue) {
            return call(() -> EtcdModel.this.first(queue));
        }

        @Override
        public CompletableFuture<Found> lastBefore(ByteSequence queue, long before) {
            return call(() -> new Found(
                    queue(queue).stream()
                            .filter(key -> key.createRevision() < before)
                            .reduce((one, next) -> next)
                            .map(EtcdModel::shown),
                    revision));
        }

        @Override
        public CompletableFuture<List<KeyValue>> inOrder(ByteSequence queue, long limit, long fromRevision) {
            return call(() -> queue(queue).stream()
                    .filter(key -> key.createRevision() >= fromRevision)
                    .limit(limit)
                    .map(EtcdModel::shown)
                    .toList());
        }

        @Override
        public CompletableFuture<List<KeyValue>> keysUntil(ByteSequence from, ByteSequence end, long limit) {
            throw new UnsupportedOperationException("no run lists locks");
        }

        @Override
        public CompletableFuture<Made> make(
                ByteSequence key, ByteSequence value, long lease, ByteSequence queue, int most) {
            return call(() -> {
                if (!keys.containsKey(key)) {
                    putUnder(lease, key);
                    String text = key.toString(StandardCharsets.UTF_8);
                    run.made(text.substring(text.lastIndexOf('/') + 1));
                    keys.put(key, new Key(key, value, ++revision, lease));
                }
                return new Made(
                        Optional.of(shown(java.util.Objects.requireNonNull(keys.get(key)))), front(queue, most));
            });
        }

        @Override
        public CompletableFuture<Looked> look(ByteSequence key, long createRevision, ByteSequence queue, int most) {
            return call(() -> isStill(key, createRevision)
                    ? new Looked(true, front(queue, most))
                    : new Looked(false, front(queue, 0)));
        }

        @Override
        public CompletableFuture<Looked> move(ByteSequence key, long createRevision, ByteSequence value, long lease) {
            return call(() -> {
                Key found = keys.get(key);
                boolean is = found != null
                        && isStill(key, createRevision)
                        && found.value().equals(value);
                if (is) {
                    write(new Key(key, value, createRevision, lease));
                }
                return new Looked(is, front(key, 0));
            });
        }

        @Override
        public CompletableFuture<Found> change(
                ByteSequence key, long createRevision, ByteSequence from, ByteSequence to, long lease) {
            return call(() -> {
                Key found = keys.get(key);
                if (found != null
                        && isStill(key, createRevision)
                        && found.value().equals(from)) {
                    write(new Key(key, to, createRevision, lease));
                }
                return new Found(Optional.ofNullable(keys.get(key)).map(EtcdModel::shown), revision);
            });
        }

        @Override
        public CompletableFuture<Boolean> delete(ByteSequence key, long createRevision) {
            return call(() -> {
                boolean is = isStill(key, createRevision);
                if (is) {
                    revision++;
                    remove(key);
                }
                return is;
            });
        }

        @Override
        public CompletableFuture<Boolean> putIfAbsent(ByteSequence key, ByteSequence value) {
            throw new UnsupportedOperationException("no run compares the base of tokens");
        }

        @Override
        public Watching watch(ByteSequence key, long fromRevision, boolean changes, Consumer<Heard> events) {
            LiveWatch watch = new LiveWatch(wire, key, changes, events);
            boolean[] closed = {false};
            wire.ask(() -> {
                Long gone = deletedAt.get(key);
                Long written = writtenAt.get(key);
                if (gone != null && gone >= fromRevision) {
                    wire.tell(() -> events.accept(Heard.DELETED));
                } else if (changes && written != null && written >= fromRevision) {
                    wire.tell(() -> events.accept(Heard.CHANGED));
                }
                if (!closed[0]) {
                    watches.add(watch);
                }
            });
            return () -> {
                closed[0] = true;
                watches.remove(watch);
            };
        }

        @Override
        public void close() {
            wire.close();
            watches.removeIf(watch -> watch.wire() == wire);
        }
    }
}
