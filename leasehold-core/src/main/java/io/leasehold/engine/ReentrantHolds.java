package io.leasehold.engine;

import io.leasehold.Lease;
import io.leasehold.LockName;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/** What threads hold through reentrant views, by client, name and thread; shared by all views of a client. */
final class ReentrantHolds {

    private static final int MIN_SWEEP = 64;

    private final ConcurrentMap<Key, Counted> holds = new ConcurrentHashMap<>();

    /** What threads left behind, when they died or were told of a loss, is forgotten when the table has doubled. */
    private volatile int sweepAbove = MIN_SWEEP;

    /** Threads are compared by identity: ids are used again. */
    private record Key(LockName name, Thread thread) {}

    /** A lease and how often its thread has locked it; only that thread changes it. */
    static final class Counted {
        final Lease lease;
        final int limit;
        int count = 1;
        /** Its thread was told that the hold is over, and may have left its section without an unlock(). */
        volatile boolean toldOver;

        Counted(Lease lease, int limit) {
            this.lease = lease;
            this.limit = limit;
        }

        /** Lost, and its thread knows: it can only be unlocked in vain. */
        private boolean isLeftBehind() {
            return toldOver
                    && lease instanceof LeaseHandle handle
                    && handle.state().cause() != null;
        }
    }

    @Nullable
    Counted ofCurrentThread(LockName name) {
        return holds.get(new Key(name, Thread.currentThread()));
    }

    /** The options of the outermost hold count, so its limit is kept with it. */
    void begin(LockName name, Lease lease, int limit) {
        Thread thread = Thread.currentThread();
        holds.put(new Key(name, thread), new Counted(lease, limit));
        if (lease instanceof LeaseHandle handle) {
            handle.state().owner().bindTo(thread);
        }
        if (holds.size() > sweepAbove) {
            holds.entrySet()
                    .removeIf(hold ->
                            !hold.getKey().thread().isAlive() || hold.getValue().isLeftBehind());
            sweepAbove = Math.max(MIN_SWEEP, 2 * holds.size());
        }
    }

    void end(LockName name) {
        holds.remove(new Key(name, Thread.currentThread()));
    }

    /** How many holds are remembered, those that were left behind included. */
    int size() {
        return holds.size();
    }
}
