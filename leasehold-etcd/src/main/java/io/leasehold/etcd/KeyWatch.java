package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import org.jspecify.annotations.Nullable;

/**
 * A watch of one key that may be closed while it is still being created. Once it is closed, it reports nothing.
 *
 * <p>Safe for use by any thread. The driver calls back while it holds a lock of its own, and {@link #begin} and
 * {@link #close} take that lock as well. So their caller must not hold any lock that the listener takes.
 */
final class KeyWatch {

    /** Receives the events of a watch. */
    interface Listener {
        void heard(KeyWatch watch, EtcdCalls.Heard what);
    }

    private final EtcdCalls etcd;
    private final ByteSequence key;
    private final boolean changes;
    private final Listener listener;
    private EtcdCalls.@Nullable Watching watcher;
    private boolean closed;

    /** Creates a watch that reports the deletion of the key, or also each change of it. */
    KeyWatch(EtcdCalls etcd, ByteSequence key, boolean changes, Listener listener) {
        this.etcd = etcd;
        this.key = key;
        this.changes = changes;
        this.listener = listener;
    }

    /** Reports the events at or after this revision; called once. */
    void begin(long fromRevision) {
        EtcdCalls.Watching made;
        try {
            made = etcd.watch(key, fromRevision, changes, this::hear);
        } catch (RuntimeException | Error e) {
            hear(EtcdCalls.Heard.OVER);
            throw e;
        }
        synchronized (this) {
            if (!closed) {
                watcher = made;
                return;
            }
        }
        made.close();
    }

    private void hear(EtcdCalls.Heard what) {
        synchronized (this) {
            if (closed) {
                return;
            }
        }
        listener.heard(this, what);
    }

    /** Ends the watch. */
    void close() {
        EtcdCalls.@Nullable Watching made;
        synchronized (this) {
            closed = true;
            made = watcher;
            watcher = null;
        }
        if (made != null) {
            made.close();
        }
    }
}
