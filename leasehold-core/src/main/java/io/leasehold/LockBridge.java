package io.leasehold;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Two locks held together while a fleet moves from the one to the other: for one release everybody takes both, so that it
 * excludes those who still take only the old lock, and those who already take only the new one.
 *
 * <pre>{@code
 * LockBridge bridge = LockBridge.of(oldLocks.named("order:1001"), newLocks.named("order:1001"));
 * try (LockBridge.Both both = bridge.acquire()) { work(); }
 * }</pre>
 *
 * <p><b>Guarantee.</b> Held is both or nothing: if the second cannot be had, for whatever reason, the first is given back
 * before the error is thrown. The order is fixed, older before newer, so that two who cross the bridge do not wait for each
 * other; it must be the same everywhere. Exclusion is that of the lock which two parties share, so it is never better than
 * that of the older store until all take both.
 *
 * <p><b>Tokens</b> of two stores are not compared with each other. A resource that checks tokens shows each to a fence of its
 * own: {@code older().fencingToken()} is ordered with those who take only the old lock, {@code newer().fencingToken()} with
 * those who take only the new one.
 *
 * <p><b>Threads.</b> Any thread may use it. Waiting methods throw {@link InterruptedException} and leave nothing behind.
 */
public final class LockBridge {

    private final DistributedLock older;
    private final DistributedLock newer;

    private LockBridge(DistributedLock older, DistributedLock newer) {
        this.older = older;
        this.newer = newer;
    }

    /**
     * A bridge; stateless, like the locks.
     *
     * @param older taken first, released last
     * @param newer of another store, or another name in the same
     */
    public static LockBridge of(DistributedLock older, DistributedLock newer) {
        return new LockBridge(Objects.requireNonNull(older, "older"), Objects.requireNonNull(newer, "newer"));
    }

    /**
     * Waits without limit until both are held.
     *
     * @throws LockStoreException if one of the stores cannot serve; nothing is held then
     */
    public Both acquire() throws InterruptedException {
        Lease first = older.acquire();
        return with(first, newer::acquire);
    }

    /**
     * Waits at most {@code maxWait} for each of the two.
     *
     * @return both, or null if one of them stayed busy
     * @throws LockStoreException if one of the stores cannot serve; nothing is held then
     */
    public @Nullable Both tryAcquire(Duration maxWait) throws InterruptedException {
        Lease first = older.tryAcquire(maxWait);
        if (first == null) {
            return null;
        }
        try {
            return with(first, () -> newer.attempt(maxWait).orElseThrow());
        } catch (LockBusyException e) {
            return null;
        }
    }

    private interface Second {
        Lease acquire() throws InterruptedException;
    }

    private static Both with(Lease first, Second second) throws InterruptedException {
        boolean both = false;
        try {
            Both held = new Both(first, second.acquire());
            both = true;
            return held;
        } finally {
            if (!both) {
                first.close();
            }
        }
    }

    /** Both locks, held: valid while both leases are, lost with the first that is lost. */
    public static final class Both implements AutoCloseable {

        private final Lease older;
        private final Lease newer;

        private Both(Lease older, Lease newer) {
            this.older = older;
            this.newer = newer;
        }

        /** The lease of the older lock. */
        public Lease older() {
            return older;
        }

        /** The lease of the newer lock. */
        public Lease newer() {
            return newer;
        }

        /** Whether both may be relied on. */
        public boolean isValid() {
            return older.isValid() && newer.isValid();
        }

        /** As {@link Hold#ensureValidFor}, of both. */
        public void ensureValidFor(Duration duration) {
            older.ensureValidFor(duration);
            newer.ensureValidFor(duration);
        }

        /** Calls back once if one of the two is lost, with the cause; never after a release. */
        public void onLost(Consumer<? super LossCause> callback) {
            Objects.requireNonNull(callback, "callback");
            AtomicBoolean told = new AtomicBoolean();
            Consumer<LossCause> once = cause -> {
                if (told.compareAndSet(false, true)) {
                    callback.accept(cause);
                }
            };
            older.onLost(once);
            newer.onLost(once);
        }

        /** Gives both back, the newer one first. {@link ReleaseOutcome#RELEASED} only if both were. */
        public ReleaseOutcome release() {
            ReleaseOutcome ofNewer = newer.release();
            ReleaseOutcome ofOlder = older.release();
            return ofNewer == ReleaseOutcome.RELEASED ? ofOlder : ofNewer;
        }

        /** Like {@link #release}, but never throws. */
        @Override
        public void close() {
            newer.close();
            older.close();
        }
    }
}
