package io.leasehold.redis.node;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.admin.Leak;
import io.leasehold.redis.topology.Link;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.spi.LockRuntime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Walks the keys of locks in small steps, and tells which of them nothing will ever remove, and which waiters have a free
 * lock before them. One search; its steps follow each other.
 */
final class SideKeySearch {

    private static final long TIMEOUT_NANOS = 5_000_000_000L;
    private static final int KEYS_PER_STEP = 500;
    private static final long SECOND_LOOK_NANOS = 4_000_000_000L;

    private final Requests requests;
    private final Topology topology;
    private final LockRuntime runtime;
    private final Walk walk;
    private final KeyLayout keys;
    private long steps;
    private final List<Leak> found = new ArrayList<>();
    /** Queues whose lock is free, by the key of the queue. */
    private final Map<String, String> idle = new LinkedHashMap<>();

    SideKeySearch(Requests requests, Topology topology, LockRuntime runtime, Walk walk, KeyLayout keys) {
        this.keys = keys;
        this.topology = topology;
        this.walk = walk;
        this.requests = requests;
        this.runtime = runtime;
    }

    CompletableFuture<List<Leak>> find() {
        CompletableFuture<Void> walked = CompletableFuture.completedFuture(null);
        try {
            for (Link master : topology.everywhere()) {
                walked = walked.thenCompose(done -> walk(master, PlainCommand.Step.FIRST));
            }
        } catch (LockStoreException e) {
            return CompletableFuture.failedFuture(e);
        }
        return walked.thenCompose(done -> secondLook()).thenApply(done -> List.copyOf(found));
    }

    private CompletableFuture<Void> walk(Link master, String from) {
        PlainCommand<PlainCommand.Step> step = PlainCommand.scan(from, keys.scanPattern(), KEYS_PER_STEP);
        return requests.<PlainCommand.Step, PlainCommand.Step>sendTo(
                        master,
                        "",
                        "look for leaks",
                        TIMEOUT_NANOS,
                        (link, then) -> link.send(step, then),
                        (cursor, link) -> cursor,
                        failure -> {
                            throw failure.error();
                        })
                .whenComplete((cursor, error) -> walk.seen(++steps * KEYS_PER_STEP))
                .thenCompose(cursor -> look(cursor.keys())
                        .thenCompose(done -> cursor.isLast()
                                ? CompletableFuture.completedFuture(null)
                                : walk(master, cursor.cursor())));
    }

    private CompletableFuture<Void> look(List<String> several) {
        List<CompletableFuture<Void>> looked = new ArrayList<>();
        for (String key : several) {
            String lock = keys.lockBeside(key);
            if (keys.nameOf(key) != null || KeyLayout.isMarker(key) || (lock == null && !keys.isAlone())) {
                continue; // locks themselves are listed, and judged by their holders
            }
            looked.add(pttl(key).thenAccept(left -> judgeSideKey(key, left)));
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

    private synchronized void noteIdle(String queue, String lock) {
        idle.put(queue, lock);
    }

    private synchronized void judgeSideKey(String key, long left) {
        if (left == -1) {
            found.add(new Leak(
                    Leak.Kind.SIDE_KEY,
                    key,
                    "this key has no ttl, and Leasehold gives every side key one: another program wrote it, or took its ttl away;"
                            + " PEXPIRE it if nobody needs it"));
        }
    }

    private CompletableFuture<Long> pttl(String key) {
        return requests.<Long, Long>send(
                "look for leaks",
                TIMEOUT_NANOS,
                key,
                (link, then) -> link.send(PlainCommand.pttl(key), then),
                (left, link) -> left,
                failure -> {
                    throw failure.error();
                });
    }

    /** A lock that was free for a moment is taken by now, or its waiters are gone. */
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
                    "the lock is free and its queue is not empty: those who wait were not woken; the next who acquires or"
                            + " releases it serves them or drops them"));
        }
    }
}
