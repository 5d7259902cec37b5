package io.leasehold.engine;

import io.leasehold.Lease;
import io.leasehold.LockName;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/** What threads hold through reentrant views, by client, name and thread; shared by all views of a client. */
final class ReentrantHolds {

    private final ConcurrentMap<Key, Counted> holds = new ConcurrentHashMap<>();

    /** Threads are compared by identity: ids are used again. */
    private record Key(LockName name, Thread thread) {}

    /** A lease and how often its thread has locked it; only that thread changes it. */
    static final class Counted {
        final Lease lease;
        int count = 1;

        Counted(Lease lease) {
            this.lease = lease;
        }
    }

    @Nullable
    Counted ofCurrentThread(LockName name) {
        return holds.get(new Key(name, Thread.currentThread()));
    }

    void begin(LockName name, Lease lease) {
        holds.put(new Key(name, Thread.currentThread()), new Counted(lease));
    }

    void end(LockName name) {
        holds.remove(new Key(name, Thread.currentThread()));
    }
}
