package io.leasehold.engine;

import io.leasehold.LockName;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The holds of threads through reentrant views, by client, name and thread; shared by all views of a client. */
final class ReentrantHolds {

    private static final int MIN_SWEEP = 64;

    private final ConcurrentMap<Key, Counted> holds = new ConcurrentHashMap<>();

    /**
     * The size above which a sweep removes the holds whose thread has died or was notified of the loss: twice that
     * after the last sweep.
     */
    private volatile int sweepAbove = MIN_SWEEP;

    /** Threads are compared by identity, since ids are reused. */
    private record Key(LockName name, Thread thread) {}

    /** A lease and the lock count of its thread; only that thread changes it. */
    static final class Counted {
        /** Replaced if the lease of a writer becomes that of a reader. */
        volatile LeaseHandle lease;

        final int limit;
        int count = 1;
        /** Whether its thread was notified of the end; that thread may have left its section without an unlock(). */
        volatile boolean endReported;

        private final boolean reads;
        /** The registrations of a reader with the lease of its writer, for the lease that follows. */
        private List<Consumer<LeaseHandle>> registered = List.of();

        Counted(LockName name, LeaseHandle lease, int limit) {
            this.reads = name.isRead();
            this.lease = lease;
            this.limit = limit;
        }

        /** Whether the lease is lost and its thread knows; an unlock then has no effect. */
        private boolean isAbandoned() {
            return endReported && lease.state().cause() != null;
        }

        /** Whether its thread was notified of the end: by this hold, or by the other one that had the same lease. */
        boolean isEndReported() {
            return endReported
                    || (lease.state().cause() != null && !lease.state().isUnreleased());
        }

        /** Registers with the lease, and with that which follows a downgrade. */
        void register(Consumer<LeaseHandle> registration) {
            registration.accept(lease);
            if (reads && !lease.lockName().isRead()) {
                List<Consumer<LeaseHandle>> all = new ArrayList<>(registered);
                all.add(registration);
                registered = all;
            }
        }

        /** Continues with the lease of a reader. */
        void downgraded(LeaseHandle reader) {
            registered.forEach(each -> Futures.guarded("a registration with a lease", () -> each.accept(reader)));
            registered = List.of();
            lease = reader;
            endReported = false;
        }
    }

    @Nullable
    Counted ofCurrentThread(LockName name) {
        return holds.get(new Key(name, Thread.currentThread()));
    }

    /** Begins a hold. The options of the outermost hold count, so the hold keeps its limit. */
    void begin(LockName name, LeaseHandle lease, int limit) {
        Thread thread = Thread.currentThread();
        holds.put(new Key(name, thread), new Counted(name, lease, limit));
        lease.state().owner().bindTo(thread);
        if (holds.size() > sweepAbove) {
            holds.entrySet()
                    .removeIf(hold ->
                            !hold.getKey().thread().isAlive() || hold.getValue().isAbandoned());
            sweepAbove = Math.max(MIN_SWEEP, 2 * holds.size());
        }
    }

    void end(LockName name) {
        holds.remove(new Key(name, Thread.currentThread()));
    }

    /** The number of recorded holds, including abandoned ones. */
    int size() {
        return holds.size();
    }
}
