package io.leasehold.etcd;

import io.leasehold.LossCause;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.TimeLimit;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Watches the key of a holder, once. Reports the removal of the key and its cause, or that the watch is broken.
 *
 * <p>Safe for use by any thread; no call is made while a lock of this class is held.
 */
final class OwnKey {

    /** The longest time for which a lost holder is not notified because its cause is still unknown. */
    private static final long CAUSE_NANOS = Duration.ofMillis(500).toNanos();

    /** Receives the events of the key with which the place holds. */
    interface Listener {
        /** The key with this create revision is gone. */
        void taken(long made, LossCause cause);

        /** The watch is broken while the place holds. */
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

    /**
     * Watches from this revision on, unless the key is watched. If a watch has ended, the next call creates another
     * one.
     */
    void guard(long made, long fromRevision) {
        if (!own.place().isHeldWith(made)) {
            return;
        }
        KeyWatch mine = new KeyWatch(etcd, own.key(), false, (hearing, what) -> heard(made, hearing, what));
        synchronized (this) {
            if (watch != null) {
                return;
            }
            watch = mine;
        }
        try {
            mine.begin(fromRevision);
        } catch (RuntimeException | Error e) {
            return; // The next renewal creates another watch; a hold is renewed with or without one.
        }
        if (!own.place().isHeldWith(made)) {
            forget(mine); // The hold ended before there was a watch to close.
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
            case CHANGED -> {
                // Only the own client writes the key, when its lease or its kind changes.
            }
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
        // A key that was deleted by hand leaves its lease behind, so only an answer tells the two causes apart.
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

    /** Ends the watch. */
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
