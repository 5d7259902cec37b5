package io.leasehold;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.function.Consumer;

/**
 * A distributed lock as a {@code java.util.concurrent.locks.Lock}. It is reentrant per thread; the count is kept in
 * this process, so that re-entry costs no round trip and keeps the fencing token.
 *
 * <p>The options of the outermost hold apply. Re-entry beyond {@link LockOptions#reentryLimit(int)} throws
 * {@link IllegalStateException}. {@link #unlock()} by a thread that does not hold the lock throws
 * {@link IllegalMonitorStateException}. {@link #tryLock(long, TimeUnit)} treats negative patience as zero.
 * {@link #lock()} is not interruptible and restores the interrupt flag.
 *
 * <p><b>Loss.</b> Re-entry on a lost hold throws {@link LeaseLostException}; so does {@link #unlock()}, once, at the
 * outermost level. Once an exception or {@link #isHeldByCurrentThread()} has reported the loss to the thread, its next
 * {@code lock()} or {@code tryLock()} begins a new hold with a new fencing token, even if levels of the lost hold were
 * not unlocked. It is therefore correct to end a section with {@code if (isHeldByCurrentThread()) unlock()}.
 *
 * <p><b>Suspension.</b> Re-entry costs no round trip unless the machine was suspended since the last check. After a
 * suspension the view asks the store first, and {@code lock()} and {@code tryLock()} may throw
 * {@link LockStoreException} if the store does not answer, or {@link LeaseAtRiskException} if nothing has confirmed the
 * hold yet. The hold then continues with its levels.
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

    /**
     * As {@link Hold#remainingValidity()}, for the current thread's hold.
     *
     * @throws IllegalMonitorStateException if the current thread does not hold this lock
     */
    Duration remainingValidity();

    /**
     * As {@link Hold#renew()}, for the current thread's hold.
     *
     * @throws IllegalMonitorStateException if the current thread does not hold this lock
     */
    void renew();

    /**
     * As {@link Hold#onLost(Consumer)}, for the current thread's hold with all its levels.
     *
     * @throws IllegalMonitorStateException if the current thread does not hold this lock
     */
    void onLost(Consumer<? super LossCause> callback);

    /**
     * As {@link Hold#interruptOnLoss()}, for the current thread and its hold.
     *
     * @throws IllegalMonitorStateException if the current thread does not hold this lock
     */
    void interruptOnLoss();

    /**
     * As {@link #unlock()}, but returns the outcome of the hold, and does not throw if it was lost.
     *
     * @return the outcome; empty if this was not the outermost level, so that the hold continues
     * @throws IllegalMonitorStateException if the current thread does not hold this lock
     */
    Optional<ReleaseOutcome> release();

    /**
     * Whether the current thread holds this lock and has not lost it. A local check, except after a suspension of the
     * machine: then the view asks the store first. A hold that the store does not confirm is lost from then on
     * ({@link LossCause#EXPIRED}), even if the store would have confirmed it later: it is released at the store, so
     * that nothing stays held after {@code false}.
     */
    boolean isHeldByCurrentThread();

    /** The number of unlocks that the current thread still owes; zero if it does not hold this lock. A loss does not change it. */
    int getHoldCount();

    /**
     * Not supported: a condition would have to signal waiters in other processes reliably.
     *
     * @throws UnsupportedOperationException always, as {@link Lock#newCondition()} allows
     */
    @Override
    Condition newCondition();
}
