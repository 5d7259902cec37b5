package io.leasehold.engine;

import io.leasehold.LockName;
import io.leasehold.LockOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * The readers of one client: those that come together with the same options share one request and one hold at the store.
 * Safe for use by any thread.
 */
final class SharedReads {

    /**
     * How long after a grant a reader may still join it: a writer that waits for the readers waits longer by that. A writer
     * should wait for no reader that comes 20 ms after it; the rest is for the way and the threads.
     */
    static final long JOIN_NANOS = 15_000_000L;

    private final EngineContext context;
    private final LocalQueues queues;
    /** The requests that are on their way, or were granted a moment ago. */
    private final ConcurrentMap<Key, SharedRead> open = new ConcurrentHashMap<>();
    /** The holds, by the name of the readers, for the check whether a thread waits for itself. */
    private final ConcurrentMap<LockName, List<SharedLease>> holds = new ConcurrentHashMap<>();

    /** Readers with other options are granted another hold. */
    private record Key(LockName name, LockOptions options) {

        static Key of(AcquireAttempt attempt) {
            return new Key(attempt.name(), attempt.options());
        }
    }

    SharedReads(EngineContext context, LocalQueues queues) {
        this.context = context;
        this.queues = queues;
    }

    /** Lets the caller share a request or a new grant, or sends a request for it. */
    void enter(ReadAttempt caller) {
        Key key = new Key(caller.name(), caller.settings.options());
        if (caller.asksOnce()) {
            SharedRead granted = open.get(key);
            if (granted == null || !granted.joinGrant(caller)) {
                request(caller).enter(caller);
            }
            return;
        }
        while (true) {
            SharedRead shared = open.computeIfAbsent(key, same -> request(caller));
            if (shared.enter(caller)) {
                return;
            }
            open.remove(key, shared);
        }
    }

    private SharedRead request(ReadAttempt caller) {
        return new SharedRead(caller, this, context, queues);
    }

    /** Lets the request contend with those of other options, and at the store. */
    void contend(AcquireAttempt attempt) {
        queues.enter(attempt);
    }

    /** No caller joins this request any more. */
    void remove(SharedRead request) {
        open.remove(Key.of(request.contender()), request);
    }

    /** Records the hold until it ends. Callers may join it, unless others wait for a request that they share. */
    void granted(SharedRead request, SharedLease hold) {
        open.putIfAbsent(Key.of(request.contender()), request);
        record(hold);
        hold.whenOver(() -> {
            remove(request);
            forget(hold);
        });
    }

    /** Returns the only lease of a hold that no other caller joins: that of a writer which has become a reader. */
    LeaseHandle only(LeaseHandle handle, @Nullable Throwable asked) {
        SharedLease hold = SharedLease.of(handle);
        hold.expect(1);
        record(hold);
        hold.whenOver(() -> forget(hold));
        return hold.shareExpected(asked);
    }

    private void record(SharedLease hold) {
        holds.compute(hold.name(), (name, known) -> {
            List<SharedLease> all = known == null ? new ArrayList<>(1) : new ArrayList<>(known);
            all.add(hold);
            return List.copyOf(all);
        });
    }

    private void forget(SharedLease hold) {
        holds.computeIfPresent(hold.name(), (name, known) -> {
            List<SharedLease> rest =
                    known.stream().filter(other -> other != hold).toList();
            return rest.isEmpty() ? null : rest;
        });
    }

    /** Whether this thread itself has opened a renewed read lease of this lock, and is the only one that can release it. */
    boolean blocksForever(LockName readers, Thread thread) {
        for (SharedLease hold : holds.getOrDefault(readers, List.of())) {
            if (hold.blocksForever(thread)) {
                return true;
            }
        }
        return false;
    }
}
