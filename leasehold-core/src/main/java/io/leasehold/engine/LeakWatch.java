package io.leasehold.engine;

import io.leasehold.LockName;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
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

    /** The lease behind a handle. */
    interface Watched {

        LockName name();

        long token();

        /** Whether the lease is still held and was not released, although its handle is gone. */
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

    /**
     * Watches the handle of a lease; the lease must not refer to it. The lease keeps the trace: a trace that is
     * unreachable itself reports nothing.
     */
    Trace trace(Object handle, Watched lease, @Nullable Throwable stack) {
        // Without renewals, no check runs. The traces of dropped leases must not accumulate, so check here.
        report();
        return stack == null
                ? new Trace(handle, lease, unreachable)
                : new RecordedTrace(handle, lease, unreachable, stack);
    }

    /** Reports the leases that have become unreachable since the last call. */
    void report() {
        for (Reference<?> found; (found = unreachable.poll()) != null; ) {
            if (found instanceof Trace trace) {
                Futures.guarded("the report of a leak", trace::leaked);
            }
        }
    }

    /** The trace of one handle. */
    static class Trace extends PhantomReference<Object> {

        private final Watched lease;

        Trace(Object handle, Watched lease, ReferenceQueue<Object> unreachable) {
            super(handle, unreachable);
            this.lease = lease;
        }

        private void leaked() {
            if (lease.isLeaked()) {
                log(lease);
                lease.leaked();
            }
        }

        void log(Watched leaked) {}
    }

    /** The trace of one handle, with the stack of its acquisition. */
    private static final class RecordedTrace extends Trace {

        private final Throwable stack;

        RecordedTrace(Object handle, Watched lease, ReferenceQueue<Object> unreachable, Throwable stack) {
            super(handle, lease, unreachable);
            this.stack = stack;
        }

        @Override
        void log(Watched leaked) {
            LOG.atError()
                    .addKeyValue("lock", leaked.name())
                    .addKeyValue("fencingToken", leaked.token())
                    .setCause(stack)
                    .log("lease on \"{}\" was dropped without a release", leaked.name());
        }
    }
}
