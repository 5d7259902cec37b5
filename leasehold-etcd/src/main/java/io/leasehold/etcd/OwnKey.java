package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.leasehold.LossCause;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.TimeLimit;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Watches the key of a holder, once, and tells that it was taken away, and why; or that what would tell is broken.
 *
 * <p>Safe for use by any thread; nobody is called with a lock of this class held.
 */
final class OwnKey {

    /** How long a lost holder may be left without its cause. */
    private static final long CAUSE_NANOS = Duration.ofMillis(500).toNanos();

    /** Whose key it is. */
    interface Owner {
        /** Whether it holds with the key of this create revision. */
        boolean isHeldSince(long made);

        /** That key is gone. */
        void taken(long made, LossCause cause);

        /** The watch is broken while it holds. */
        void suspended();
    }

    private final Etcd etcd;
    private final LockRuntime runtime;
    private final ByteSequence key;
    private final KeyLease lease;
    private final Owner owner;
    private @Nullable KeyWatch watch;

    OwnKey(Etcd etcd, LockRuntime runtime, ByteSequence key, KeyLease lease, Owner owner) {
        this.etcd = etcd;
        this.runtime = runtime;
        this.key = key;
        this.lease = lease;
        this.owner = owner;
    }

    /** Watches from this revision on, unless it is watched. A watch that has ended is made again by the next call. */
    void guard(long made, long fromRevision) {
        if (!owner.isHeldSince(made)) {
            return;
        }
        KeyWatch mine = new KeyWatch(etcd, key, (own, what) -> heard(made, own, what));
        synchronized (this) {
            if (watch != null) {
                return;
            }
            watch = mine;
        }
        mine.begin(fromRevision);
        if (!owner.isHeldSince(made)) {
            forget(mine); // It ended before there was something to close.
            mine.close();
        }
    }

    private void heard(long made, KeyWatch own, KeyWatch.Heard what) {
        switch (what) {
            case DELETED -> gone(made);
            case BROKEN -> {
                if (owner.isHeldSince(made)) {
                    owner.suspended();
                }
            }
            case OVER -> forget(own);
        }
    }

    private synchronized void forget(KeyWatch own) {
        if (watch == own) {
            watch = null;
        }
    }

    private void gone(long made) {
        Etcd.Leased leased = lease.current();
        if (leased == null || !owner.isHeldSince(made)) {
            return;
        }
        // A key that was deleted by hand leaves its lease behind, so only an answer tells the one from the other.
        TimeLimit.within(
                        runtime,
                        CAUSE_NANOS,
                        () -> etcd.remaining(leased.id())
                                .thenApply(
                                        left -> left.isPresent() ? LossCause.FORCE_RELEASED : LossCause.SESSION_LOST),
                        error -> LossCause.SESSION_LOST,
                        () -> LossCause.SESSION_LOST)
                .thenAccept(cause -> owner.taken(made, cause));
    }

    /** Watches no more. */
    void close() {
        KeyWatch last;
        synchronized (this) {
            last = watch;
            watch = null;
        }
        if (last != null) {
            last.close();
        }
    }
}
