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
 * Notices leases whose handle became unreachable without a release: reports them, with the stack of their acquisition if
 * that was asked for, and has them renewed no more.
 *
 * <p>Without a thread of its own: a forgotten lease is looked for whenever a renewal is due, and it is renewals that keep
 * a forgotten lease alive.
 */
final class LeakWatch {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    private final boolean withStacks;
    private final ReferenceQueue<Object> unreachable = new ReferenceQueue<>();
    /** Keeps the references themselves reachable. */
    private final Set<Trace> traces = ConcurrentHashMap.newKeySet();

    /** What a handle stands for. */
    interface Watched {

        LockName name();

        long token();

        /** Whether it is still held, although its handle is gone. */
        boolean isLeaked();

        void leaked();
    }

    LeakWatch(boolean withStacks) {
        this.withStacks = withStacks;
    }

    /** Where a lease is asked for, if that is to be remembered: called by the thread that asks. */
    @Nullable
    Throwable askedHere() {
        return withStacks ? new Throwable("the lease was acquired here") : null;
    }

    /** Watches the handle of a lease; the lease must not refer to it. */
    Trace trace(Object handle, Watched lease, @Nullable Throwable stack) {
        // Leases that are never renewed are never looked for; what is dropped of them must not pile up here.
        report();
        Trace trace = new Trace(handle, lease, stack);
        traces.add(trace);
        return trace;
    }

    /** Reports what has become unreachable since. */
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

        /** The lease was given back: nothing to watch any more. */
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
