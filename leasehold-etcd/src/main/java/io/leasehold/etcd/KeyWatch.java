package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Watch;
import org.jspecify.annotations.Nullable;

/**
 * A watch of one key that may be closed while it is still being made. Once it is closed, nothing is heard of it.
 *
 * <p>Safe for use by any thread. The driver calls back with a lock of its own held, which {@link #begin} and {@link #close}
 * take as well: nothing that the ear locks may be held when they are called.
 */
final class KeyWatch {

    /** What is heard. */
    enum Heard {
        /** The key was deleted. */
        DELETED,
        /** The watch is broken; unless {@link #OVER} follows, the driver goes on with it where it was. */
        BROKEN,
        /** The watch has ended by itself. */
        OVER
    }

    /** Who hears it. */
    interface Ear {
        void heard(KeyWatch watch, Heard what);
    }

    private final Etcd etcd;
    private final ByteSequence key;
    private final Ear ear;
    private Watch.@Nullable Watcher watcher;
    private boolean closed;

    KeyWatch(Etcd etcd, ByteSequence key, Ear ear) {
        this.etcd = etcd;
        this.key = key;
        this.ear = ear;
    }

    /** Hears of what happens at or after this revision; called once. */
    void begin(long fromRevision) {
        Watch.Watcher made;
        try {
            made = etcd.watch(key, fromRevision, this::hear);
        } catch (RuntimeException e) {
            hear(Heard.OVER);
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

    private void hear(Heard what) {
        synchronized (this) {
            if (closed) {
                return;
            }
        }
        ear.heard(this, what);
    }

    /** Ends it. */
    void close() {
        Watch.Watcher made;
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
