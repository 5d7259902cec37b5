package io.leasehold;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/**
 * A distributed lock as {@code java.util.concurrent.locks.Lock}: reentrant per thread, counted in this
 * process, so that re-entry costs no round trip and keeps the fencing token.
 *
 * <p>The options of the outermost hold count. Re-entry beyond {@link LockOptions#reentryLimit(int)} throws
 * {@link IllegalStateException}, on a lost hold {@link LeaseLostException}.
 * {@link #unlock()} by a thread that does not hold the lock throws {@link IllegalMonitorStateException};
 * by one whose hold was lost, {@link LeaseLostException} (which is one), once, at the outermost level.
 * {@link #tryLock(long, TimeUnit)} treats negative patience as zero. {@link #lock()} is not
 * interruptible and restores the flag.
 */
public interface ReentrantLockView extends Lock {

    /**
     * The token of the current thread's hold.
     *
     * @throws IllegalMonitorStateException if the current thread does not hold this lock
     */
    long fencingToken();

    /**
     * As {@link Hold#ensureValidFor(Duration)}, for the current thread's hold.
     *
     * @throws IllegalMonitorStateException if the current thread does not hold this lock
     */
    void ensureValidFor(Duration duration);

    /** Whether the current thread holds this lock and has not lost it. */
    boolean isHeldByCurrentThread();

    /** How often the current thread must still unlock; zero if it does not hold this lock. */
    int getHoldCount();

    /**
     * Not supported: a condition would need waiters in other processes to be signalled reliably.
     *
     * @throws UnsupportedOperationException always, as {@link Lock#newCondition()} allows
     */
    @Override
    Condition newCondition();
}
