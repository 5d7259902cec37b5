package io.leasehold.engine;

import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.ReentrantLockView;
import io.leasehold.ReleaseOutcome;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;

/** The reentrant view: counts per thread, in this process. */
final class ReentrantView implements ReentrantLockView {

    private final NamedLock lock;
    private final LockName name;
    private final ReentrantHolds holds;

    ReentrantView(NamedLock lock, ReentrantHolds holds) {
        this.lock = lock;
        this.name = lock.name();
        this.holds = holds;
    }

    @Override
    public void lock() {
        if (!reentered()) {
            begin(lock.acquireUninterruptibly());
        }
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException("interrupted before lock \"" + name + "\" was asked for");
        }
        if (!reentered()) {
            begin(lock.acquire());
        }
    }

    @Override
    public boolean tryLock() {
        return reentered() || begun(lock.tryAcquireUninterruptibly());
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException("interrupted before lock \"" + name + "\" was asked for");
        }
        return reentered() || begun(lock.tryAcquire(Duration.ofNanos(Math.max(0, unit.toNanos(time)))));
    }

    private boolean begun(@Nullable Lease lease) {
        if (lease == null) {
            return false;
        }
        begin(lease);
        return true;
    }

    private void begin(Lease lease) {
        holds.begin(name, lease, lock.options().reentryLimit());
    }

    private boolean reentered() {
        ReentrantHolds.Counted held = holds.ofCurrentThread(name);
        if (held == null) {
            return false;
        }
        // Throws if the hold was lost: what the outer section protects is no longer protected.
        held.lease.ensureValidFor(Duration.ZERO);
        if (held.count == held.limit) {
            throw new IllegalStateException("lock \"" + name + "\" is held " + held.count
                    + " times by this thread; that is the limit (LockOptions.reentryLimit)");
        }
        held.count++;
        return true;
    }

    @Override
    public void unlock() {
        ReentrantHolds.Counted held = mine();
        held.count--;
        if (held.count > 0) {
            return;
        }
        holds.end(name);
        if (held.lease.release() == ReleaseOutcome.ALREADY_LOST) {
            LossCause cause =
                    held.lease instanceof LeaseHandle handle ? handle.state().cause() : null;
            throw new LeaseLostException(
                    name,
                    cause != null ? cause : LossCause.NOT_OURS,
                    "it had ended before unlock(); what it protected may have been used by others");
        }
    }

    private ReentrantHolds.Counted mine() {
        ReentrantHolds.Counted held = holds.ofCurrentThread(name);
        if (held == null) {
            throw new IllegalMonitorStateException(
                    "thread \"" + Thread.currentThread().getName() + "\" does not hold lock \"" + name
                            + "\"; only the thread that locked it may use or unlock it");
        }
        return held;
    }

    @Override
    public long fencingToken() {
        return mine().lease.fencingToken();
    }

    @Override
    public void ensureValidFor(Duration duration) {
        mine().lease.ensureValidFor(duration);
    }

    @Override
    public boolean isHeldByCurrentThread() {
        ReentrantHolds.Counted held = holds.ofCurrentThread(name);
        return held != null && held.lease.isValid();
    }

    @Override
    public int getHoldCount() {
        ReentrantHolds.Counted held = holds.ofCurrentThread(name);
        return held == null ? 0 : held.count;
    }

    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException(
                "a distributed lock has no conditions: a signal could not reach waiters in"
                        + " other processes reliably; wait on the state itself");
    }

    @Override
    public String toString() {
        return "ReentrantLockView[" + name + "]";
    }
}
