package io.leasehold.redis.node;

import io.leasehold.LockName;
import io.leasehold.admin.Leak;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.spi.LockRuntime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Scans the keys of locks and permits for keys that never expire, and for waiters of a free lock. An object makes one
 * search, whose steps follow each other.
 */
final class SideKeySearch {

    private static final String WHAT = "look for leaks";
    private static final int KEYS_PER_STEP = 500;
    private static final long SECOND_LOOK_NANOS = 4_000_000_000L;

    private final Requests requests;
    private final LockRuntime runtime;
    private final KeyScan scan;
    private final KeyLayout keys;
    private final boolean permits;
    private final List<Leak> found = new ArrayList<>();
    /** The locks of queues that wait for a free lock, by the key of the queue. */
    private final Map<String, String> idle = new LinkedHashMap<>();

    /**
     * Creates a search.
     *
     * @param permits whether the node keeps permits
     */
    SideKeySearch(Requests requests, LockRuntime runtime, KeyScan scan, KeyLayout keys, boolean permits) {
        this.keys = keys;
        this.permits = permits;
        this.scan = scan;
        this.requests = requests;
        this.runtime = runtime;
    }

    CompletableFuture<List<Leak>> find() {
        return scan.of(WHAT, keys.scanPattern(), KEYS_PER_STEP, this::look)
                .thenCompose(done -> permits
                        ? scan.of(WHAT, keys.permitsPattern(), KEYS_PER_STEP, this::lookAtPermits)
                        : CompletableFuture.<Void>completedFuture(null))
                .thenCompose(done -> secondLook())
                .thenApply(done -> List.copyOf(found));
    }

    private CompletableFuture<Void> look(List<String> several) {
        List<CompletableFuture<Void>> looked = new ArrayList<>();
        for (String key : several) {
            String lock = keys.lockBeside(key);
            if (keys.nameOf(key) != null || KeyLayout.isMarker(key) || (lock == null && !keys.isAlone())) {
                continue; // skip locks themselves: they are listed and judged by their holders
            }
            looked.add(pttl(key).thenAccept(left -> judgeSideKey(key, "side key", left)));
            if (lock != null && key.equals(KeyLayout.queued(lock))) {
                looked.add(pttl(lock).thenAccept(left -> {
                    if (left == -2) {
                        noteIdle(key, lock);
                    }
                }));
            }
        }
        return CompletableFuture.allOf(looked.toArray(CompletableFuture<?>[]::new));
    }

    private CompletableFuture<Void> lookAtPermits(List<String> several) {
        return CompletableFuture.allOf(several.stream()
                .filter(keys::isOfPermits)
                .map(key -> pttl(key).thenAccept(left -> judgeSideKey(key, "key of permits", left)))
                .toArray(CompletableFuture<?>[]::new));
    }

    private synchronized void noteIdle(String queue, String lock) {
        idle.put(queue, lock);
    }

    private synchronized void judgeSideKey(String key, String kind, long left) {
        if (left == -1) {
            found.add(
                    new Leak(
                            Leak.Kind.SIDE_KEY,
                            key,
                            "this key has no ttl, and Leasehold gives every " + kind
                                    + " one: another program wrote it, or took its ttl away; PEXPIRE it if no client needs it"));
        }
    }

    private CompletableFuture<Long> pttl(String key) {
        return requests.sendOrThrow(WHAT, key, PlainCommand.pttl(key));
    }

    /** Checks the queues again: a lock that was free for a moment is taken by now, or its waiters are gone. */
    private CompletableFuture<Void> secondLook() {
        if (idle.isEmpty()) {
            return CompletableFuture.completedFuture(null);
        }
        CompletableFuture<Void> later = new CompletableFuture<>();
        runtime.schedule(SECOND_LOOK_NANOS, () -> later.complete(null));
        return later.thenCompose(now -> {
            List<CompletableFuture<Void>> looked = new ArrayList<>();
            idle.forEach((queue, lock) -> looked.add(pttl(queue)
                    .thenCombine(pttl(lock), (queueLeft, lockLeft) -> queueLeft != -2 && lockLeft == -2)
                    .thenAccept(stuck -> judgeQueue(lock, stuck))));
            return CompletableFuture.allOf(looked.toArray(CompletableFuture<?>[]::new));
        });
    }

    private synchronized void judgeQueue(String lock, boolean stuck) {
        if (stuck) {
            LockName name = keys.nameOf(lock);
            found.add(new Leak(
                    Leak.Kind.WAITERS_STUCK,
                    name == null ? lock : name.text(),
                    "the lock is free and its queue is not empty: its waiters were not woken; the next client that acquires or"
                            + " releases it serves them or drops them"));
        }
    }
}
