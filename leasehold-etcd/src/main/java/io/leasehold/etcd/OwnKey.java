package io.leasehold.etcd;

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

    /** Hears of the key with which it holds. */
    interface Listener {
        /** The key of this create revision is gone. */
        void taken(long made, LossCause cause);

        /** The watch is broken while it holds. */
        void suspended();
    }

    private final EtcdCalls etcd;
    private final LockRuntime runtime;
    private final AttemptKey own;
    private final Listener listener;
    private @Nullable KeyWatch watch;

    OwnKey(EtcdCalls etcd, LockRuntime runtime, AttemptKey own, Listener listener) {
        this.etcd = etcd;
        this.runtime = runtime;
        this.own = own;
        this.listener = listener;
    }

    /** Watches from this revision on, unless it is watched. A watch that has ended is made again by the next call. */
    void guard(long made, long fromRevision) {
        if (!own.place().isHeldWith(made)) {
            return;
        }
        KeyWatch mine = new KeyWatch(etcd, own.key(), (hearing, what) -> heard(made, hearing, what));
        synchronized (this) {
            if (watch != null) {
                return;
            }
            watch = mine;
        }
        try {
            mine.begin(fromRevision);
        } catch (RuntimeException | Error e) {
            return; // It is forgotten, and the next renewal makes another: what holds is renewed, watched or not.
        }
        if (!own.place().isHeldWith(made)) {
            forget(mine); // It ended before there was something to close.
            mine.close();
        }
    }

    private void heard(long made, KeyWatch hearing, EtcdCalls.Heard what) {
        switch (what) {
            case DELETED -> gone(made);
            case BROKEN -> {
                if (own.place().isHeldWith(made)) {
                    listener.suspended();
                }
            }
            case OVER -> forget(hearing);
        }
    }

    private synchronized void forget(KeyWatch closed) {
        if (watch == closed) {
            watch = null;
        }
    }

    private void gone(long made) {
        EtcdCalls.Leased leased = own.lease().current();
        if (leased == null || !own.place().isHeldWith(made)) {
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
                .thenAccept(cause -> listener.taken(made, cause));
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
