package io.leasehold.engine;

import io.leasehold.LockName;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Detects leases whose handle became unreachable without a release. It reports them, with the stack of their
 * acquisition if that was recorded, and stops their renewals.
 *
 * <p>It has no thread: it checks whenever a renewal is due, since renewals keep a dropped lease alive.
 */
final class LeakWatch {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    private final boolean withStacks;
    private final ReferenceQueue<Object> unreachable = new ReferenceQueue<>();
    /** Keeps the references themselves reachable. */
    private final Set<Trace> traces = ConcurrentHashMap.newKeySet();

    /** The lease behind a handle. */
    interface Watched {

        LockName name();

        long token();

        /** Whether the lease is still held, although its handle is gone. */
        boolean isLeaked();

        void leaked();
    }

    LeakWatch(boolean withStacks) {
        this.withStacks = withStacks;
    }

    /** Returns the stack of the calling thread if stacks are recorded, else null. */
    @Nullable
    Throwable captureStack() {
        return withStacks ? new Throwable("the lease was acquired here") : null;
    }

    /** Watches the handle of a lease; the lease must not refer to it. */
    Trace trace(Object handle, Watched lease, @Nullable Throwable stack) {
        // Without renewals, no check runs. The traces of dropped leases must not accumulate, so check here.
        report();
        Trace trace = new Trace(handle, lease, stack);
        traces.add(trace);
        return trace;
    }

    /** Reports the leases that have become unreachable since the last call. */
    void report() {
        for (Reference<?> found; (found = unreachable.poll()) != null; ) {
            if (found instanceof Trace trace && traces.remove(trace)) {
                Futures.guarded("the report of a leak", trace::leaked);
            }
        }
    }

    /** The trace of one handle. */
    final class Trace extends PhantomReference<Object> {

        private final Watched lease;
        private final @Nullable Throwable stack;

        Trace(Object handle, Watched lease, @Nullable Throwable stack) {
            super(handle, unreachable);
            this.lease = lease;
            this.stack = stack;
        }

        /** Ends the watch: the lease was released. */
        void forget() {
            traces.remove(this);
        }

        private void leaked() {
            if (!lease.isLeaked()) {
                return;
            }
            if (stack != null) {
                LOG.atError()
                        .addKeyValue("lock", lease.name())
                        .addKeyValue("fencingToken", lease.token())
                        .setCause(stack)
                        .log("lease on \"{}\" was dropped without a release", lease.name());
            }
            lease.leaked();
        }
    }
}
