package io.leasehold.etcd;

import com.google.protobuf.ByteString;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.common.exception.ErrorCode;
import io.etcd.jetcd.common.exception.EtcdExceptionFactory;
import io.leasehold.LockName;
import io.leasehold.spi.LockRuntime;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A cluster in the time of the test, on one thread. It notes each request, and answers at once, later or not at all, as
 * the test says. So each rule of a place is checked within milliseconds. The tests with servers check whether the real
 * cluster answers in the same way.
 */
final class ScriptedEtcd implements EtcdCalls {

    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    /** A watch, and whether its client has closed it. */
    static final class Ear {
        final ByteSequence key;
        final long fromRevision;
        final boolean changes;
        final Consumer<Heard> told;
        boolean closed;

        Ear(ByteSequence key, long fromRevision, boolean changes, Consumer<Heard> told) {
            this.key = key;
            this.fromRevision = fromRevision;
            this.changes = changes;
            this.told = told;
        }
    }

    private record Key(ByteSequence value, long created, long lease) {}

    private record Withheld(String verb, Runnable answer) {}

    /** The requests, in their order: the verb and its number, if it has one. */
    final List<String> asked = new ArrayList<>();

    final List<Ear> ears = new ArrayList<>();
    /** The leases that live, with their ttl. */
    final Map<Long, Long> leases = new TreeMap<>();

    long revision = 100;
    boolean isClosed;
    /** A new key is gone again before it is read. */
    boolean keepsNoKey;
    /** Happens while a watch is being made. */
    Runnable duringWatch = () -> {};

    private final Map<ByteSequence, Key> keys = new HashMap<>();
    private final Map<String, Deque<Throwable>> failures = new HashMap<>();
    private final Map<String, Deque<Throwable>> thrown = new HashMap<>();
    private final Map<String, Runnable> after = new HashMap<>();
    private final List<String> silent = new ArrayList<>();
    private final List<Withheld> withheld = new ArrayList<>();
    private long leaseNumber;

    static Exception broken() {
        return EtcdExceptionFactory.newEtcdException(ErrorCode.UNAVAILABLE, "broken (made by the test)");
    }

    /** The next call of this verb fails, and has no effect. */
    void failNext(String verb, Throwable error) {
        failures.computeIfAbsent(verb, any -> new ArrayDeque<>()).add(error);
    }

    /** Calls of this verb have their effect, and are answered when the test says so. */
    void withhold(String verb) {
        silent.add(verb);
    }

    void answer(String verb) {
        silent.remove(verb);
        List<Withheld> due =
                withheld.stream().filter(one -> one.verb().equals(verb)).toList();
        withheld.removeAll(due);
        due.forEach(one -> one.answer().run());
    }

    List<String> askedSince(int mark) {
        return List.copyOf(asked.subList(mark, asked.size()));
    }

    /** This happens after the next call of this verb has had its effect, and before another is made. */
    void afterNext(String verb, Runnable step) {
        after.put(verb, step);
    }

    /** The next call of this verb throws this, and returns nothing. */
    void throwNext(String verb, Throwable error) {
        thrown.computeIfAbsent(verb, any -> new ArrayDeque<>()).add(error);
    }

    private static void throwOf(Throwable error) {
        if (error instanceof Error fatal) {
            throw fatal;
        }
        throw (RuntimeException) error;
    }

    private <T> CompletableFuture<T> call(String verb, Supplier<T> work) {
        asked.add(verb);
        String name = verb.split(" ", 2)[0];
        Deque<Throwable> toThrow = thrown.get(name);
        if (toThrow != null && !toThrow.isEmpty()) {
            throwOf(toThrow.remove());
        }
        Deque<Throwable> due = failures.get(name);
        if (due != null && !due.isEmpty()) {
            return CompletableFuture.failedFuture(due.poll());
        }
        CompletableFuture<T> reply = new CompletableFuture<>();
        Runnable answer;
        try {
            T value = work.get();
            Optional.ofNullable(after.remove(name)).ifPresent(Runnable::run);
            answer = () -> reply.complete(value);
        } catch (RuntimeException e) {
            answer = () -> reply.completeExceptionally(e);
        }
        if (silent.contains(name)) {
            withheld.add(new Withheld(name, answer));
        } else {
            answer.run();
        }
        return reply;
    }

    // ---- what a test does to it

    private List<Map.Entry<ByteSequence, Key>> queue(ByteSequence prefix) {
        return keys.entrySet().stream()
                .filter(key -> key.getKey().startsWith(prefix))
                .sorted(Comparator.comparingLong(key -> key.getValue().created()))
                .toList();
    }

    List<ByteSequence> queue(LockName lock, Keys names) {
        return queue(names.queue(lock)).stream().map(Map.Entry::getKey).toList();
    }

    private static KeyValue shown(ByteSequence name, Key key) {
        return new KeyValue(
                io.etcd.jetcd.api.KeyValue.newBuilder()
                        .setKey(ByteString.copyFrom(name.getBytes()))
                        .setValue(ByteString.copyFrom(key.value().getBytes()))
                        .setCreateRevision(key.created())
                        .setLease(key.lease())
                        .build(),
                ByteSequence.EMPTY);
    }

    private Optional<KeyValue> firstOf(ByteSequence queue) {
        return queue(queue).stream().findFirst().map(key -> shown(key.getKey(), key.getValue()));
    }

    private Front frontOf(ByteSequence queue, int most) {
        return new Front(
                queue(queue).stream()
                        .limit(most)
                        .map(key -> shown(key.getKey(), key.getValue()))
                        .toList(),
                revision);
    }

    private Optional<KeyValue> find(ByteSequence key) {
        return Optional.ofNullable(keys.get(key)).map(found -> shown(key, found));
    }

    /** Puts another client's key, under a separate lease; 0 for none. */
    void put(ByteSequence key, String value, long lease) {
        keys.put(key, new Key(Keys.bytes(value), ++revision, lease));
    }

    /** The value of a key that is there. */
    String valueOf(ByteSequence key) {
        return text(keys.get(key).value());
    }

    long newLease(long ttlSeconds) {
        leases.put(++leaseNumber, ttlSeconds * NANOS_PER_SECOND);
        return leaseNumber;
    }

    /** An operator deletes a key by hand. */
    void remove(ByteSequence key) {
        revision++;
        keys.remove(key);
        for (Ear ear : List.copyOf(ears)) {
            if (ear.key.equals(key) && !ear.closed) {
                ear.told.accept(Heard.DELETED);
            }
        }
    }

    /** Deletes a key without a notification. */
    void removeUnheard(ByteSequence key) {
        revision++;
        keys.remove(key);
    }

    /** A lease ends, and its keys with it. */
    void expire(long lease) {
        leases.remove(lease);
        keys.entrySet().stream()
                .filter(key -> key.getValue().lease() == lease)
                .map(Map.Entry::getKey)
                .toList()
                .forEach(this::remove);
    }

    long openEars() {
        return ears.stream().filter(ear -> !ear.closed).count();
    }

    // ---- the seam

    @Override
    public CompletableFuture<Integer> members() {
        return call("members", () -> 3);
    }

    @Override
    public CompletableFuture<Integer> silentMembers(LockRuntime runtime) {
        return call("silentMembers", () -> 0);
    }

    @Override
    public CompletableFuture<List<String>> alarms() {
        return call("alarms", List::of);
    }

    @Override
    public CompletableFuture<Leased> lease(long ttlSeconds) {
        return call("lease " + ttlSeconds, () -> new Leased(newLease(ttlSeconds), ttlSeconds * NANOS_PER_SECOND));
    }

    @Override
    public CompletableFuture<Optional<Leased>> keepAlive(long lease) {
        return call(
                "keepAlive " + lease,
                () -> Optional.ofNullable(leases.get(lease)).map(ttl -> new Leased(lease, ttl)));
    }

    @Override
    public CompletableFuture<Optional<Duration>> remaining(long lease) {
        return call(
                "remaining " + lease,
                () -> Optional.ofNullable(leases.get(lease)).map(ttl -> Duration.ofNanos(ttl / 2)));
    }

    @Override
    public CompletableFuture<Boolean> revoke(long lease) {
        return call("revoke " + lease, () -> {
            boolean was = leases.containsKey(lease);
            expire(lease);
            return was;
        });
    }

    @Override
    public CompletableFuture<Optional<KeyValue>> get(ByteSequence key) {
        return call("get", () -> find(key));
    }

    @Override
    public CompletableFuture<Optional<KeyValue>> first(ByteSequence queue) {
        return call("first", () -> firstOf(queue));
    }

    @Override
    public CompletableFuture<Found> lastBefore(ByteSequence queue, long before) {
        return call(
                "lastBefore",
                () -> new Found(
                        queue(queue).stream()
                                .filter(key -> key.getValue().created() < before)
                                .reduce((one, next) -> next)
                                .map(key -> shown(key.getKey(), key.getValue())),
                        revision));
    }

    @Override
    public CompletableFuture<List<KeyValue>> inOrder(ByteSequence queue, long limit, long fromRevision) {
        return call(
                "inOrder " + limit,
                () -> queue(queue).stream()
                        .filter(key -> key.getValue().created() >= fromRevision)
                        .limit(limit)
                        .map(key -> shown(key.getKey(), key.getValue()))
                        .toList());
    }

    @Override
    public CompletableFuture<List<KeyValue>> keysUntil(ByteSequence from, ByteSequence end, long limit) {
        return call(
                "keysUntil " + limit,
                () -> keys.entrySet().stream()
                        .filter(key -> text(key.getKey()).compareTo(text(from)) >= 0
                                && text(key.getKey()).compareTo(text(end)) < 0)
                        .sorted(Comparator.comparing(key -> text(key.getKey())))
                        .limit(limit)
                        .map(key -> shown(key.getKey(), key.getValue()))
                        .toList());
    }

    private static String text(ByteSequence key) {
        return key.toString(StandardCharsets.UTF_8);
    }

    private void requireLease(long lease) {
        if (!leases.containsKey(lease)) {
            throw EtcdExceptionFactory.newEtcdException(ErrorCode.NOT_FOUND, "etcdserver: requested lease not found");
        }
    }

    @Override
    public CompletableFuture<Made> make(
            ByteSequence key, ByteSequence value, long lease, ByteSequence queue, int most) {
        return call("make", () -> {
            if (!keys.containsKey(key)) {
                requireLease(lease);
                keys.put(key, new Key(value, ++revision, lease));
            }
            return keepsNoKey
                    ? new Made(Optional.empty(), new Front(List.of(), revision))
                    : new Made(find(key), frontOf(queue, most));
        });
    }

    private boolean isStill(ByteSequence key, long created) {
        return keys.containsKey(key) && keys.get(key).created() == created;
    }

    @Override
    public CompletableFuture<Looked> look(ByteSequence key, long created, ByteSequence queue, int most) {
        return call(
                "look",
                () -> isStill(key, created)
                        ? new Looked(true, frontOf(queue, most))
                        : new Looked(false, new Front(List.of(), revision)));
    }

    @Override
    public CompletableFuture<Looked> move(ByteSequence key, long created, ByteSequence value, long lease) {
        return call("move " + lease, () -> {
            boolean still = isStill(key, created) && keys.get(key).value().equals(value);
            if (still) {
                requireLease(lease);
                write(key, new Key(value, created, lease));
            }
            return new Looked(still, new Front(List.of(), revision));
        });
    }

    @Override
    public CompletableFuture<Found> change(
            ByteSequence key, long created, ByteSequence from, ByteSequence to, long lease) {
        return call("change " + lease, () -> {
            if (isStill(key, created) && keys.get(key).value().equals(from)) {
                requireLease(lease);
                write(key, new Key(to, created, lease));
            }
            return new Found(find(key), revision);
        });
    }

    private void write(ByteSequence key, Key next) {
        revision++;
        keys.put(key, next);
        for (Ear ear : List.copyOf(ears)) {
            if (ear.key.equals(key) && ear.changes && !ear.closed) {
                ear.told.accept(Heard.CHANGED);
            }
        }
    }

    @Override
    public CompletableFuture<Boolean> delete(ByteSequence key, long created) {
        return call("delete", () -> {
            boolean still = isStill(key, created);
            if (still) {
                remove(key);
            }
            return still;
        });
    }

    @Override
    public CompletableFuture<Boolean> putIfAbsent(ByteSequence key, ByteSequence value) {
        return call("putIfAbsent", () -> {
            boolean absent = !keys.containsKey(key);
            if (absent) {
                keys.put(key, new Key(value, ++revision, 0));
            }
            return absent;
        });
    }

    @Override
    public Watching watch(ByteSequence key, long fromRevision, boolean changes, Consumer<Heard> told) {
        asked.add("watch");
        Deque<Throwable> due = failures.get("watch");
        if (due != null && !due.isEmpty()) {
            throwOf(due.remove());
        }
        Ear ear = new Ear(key, fromRevision, changes, told);
        ears.add(ear);
        duringWatch.run();
        return () -> ear.closed = true;
    }

    @Override
    public void close() {
        isClosed = true;
    }
}
