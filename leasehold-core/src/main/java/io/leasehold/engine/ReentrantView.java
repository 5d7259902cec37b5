package io.leasehold.engine;

import io.leasehold.Lease;
import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.LossCause;
import io.leasehold.ReentrantLockView;
import io.leasehold.ReleaseOutcome;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The reentrant view of a lock, or of its readers: counts the holds of each thread, in this process. */
final class ReentrantView implements ReentrantLockView {

    /** The rules that follow from a hold of the other lock of a pair: an exclusive lock, and its readers. */
    interface Pair {

        /** Enters without an acquisition, if the other hold of this thread allows that; throws if it forbids to enter. */
        boolean enteredBeside();

        /** Ends the outermost hold. */
        ReleaseOutcome end(ReentrantHolds.Counted held);

        /** Drops a hold whose thread has been told of its end. */
        void drop(ReentrantHolds.Counted held);
    }

    private final AbstractLock<? extends Lease> lock;
    private final LockName name;
    private final String label;
    private final ReentrantHolds holds;
    private final Pair pair;

    /**
     * Creates a view.
     *
     * @param name that of the exclusive lock, or of its readers
     */
    ReentrantView(AbstractLock<? extends Lease> lock, LockName name, ReentrantHolds holds, Pair pair) {
        this.lock = lock;
        this.name = name;
        this.label = (name.isRead() ? "read lock \"" : "lock \"") + name + "\"";
        this.holds = holds;
        this.pair = pair;
    }

    @Override
    public void lock() {
        if (!entered()) {
            begun(lock.acquireUninterruptibly());
        }
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        if (!enteredUnlessInterrupted()) {
            begun(lock.acquire());
        }
    }

    @Override
    public boolean tryLock() {
        return entered() || begun(lock.tryAcquireUninterruptibly());
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return enteredUnlessInterrupted() || begun(lock.tryAcquire(Duration.ofNanos(Math.max(0, unit.toNanos(time)))));
    }

    private boolean begun(@Nullable Lease lease) {
        if (lease != null) {
            holds.begin(name, LeaseHandle.of(lease), lock.options().reentryLimit());
        }
        return lease != null;
    }

    private boolean enteredUnlessInterrupted() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException("interrupted before " + label + " was requested");
        }
        return entered();
    }

    /** Whether this thread has entered without an acquisition. */
    private boolean entered() {
        return reentered() || pair.enteredBeside();
    }

    private boolean reentered() {
        ReentrantHolds.Counted held = holds.ofCurrentThread(name);
        if (held == null) {
            return false;
        }
        if (held.isEndReported()) {
            // This thread was notified, and may have left its section without an unlock(): this is a new hold.
            holds.end(name);
            pair.drop(held);
            return false;
        }
        // If the hold was lost, the outer section is no longer protected.
        reportingLoss(held, ReentrantView::checkConfirmed);
        if (held.count == held.limit) {
            throw new IllegalStateException(label + " is held " + held.count
                    + " times by this thread; that is the limit (LockOptions.reentryLimit)");
        }
        held.count++;
        return true;
    }

    /**
     * Throws unless the hold is valid. After a suspension, the validity is unconfirmed, so the store is asked. A thread
     * that receives a negative answer leaves its section, and must not leave behind a hold that proves valid later.
     */
    static void checkConfirmed(Lease lease) {
        try {
            lease.ensureValidFor(Duration.ZERO);
        } catch (LeaseAtRiskException unconfirmed) {
            if (unconfirmed.getCause() != null) {
                // The check itself has asked the store.
                throw unconfirmed;
            }
            lease.renew();
            lease.ensureValidFor(Duration.ZERO);
        }
    }

    @Override
    public void unlock() {
        ReentrantHolds.Counted held = currentHold();
        ReleaseOutcome outcome = unlockOneLevel(held);
        if (outcome == ReleaseOutcome.ALREADY_LOST) {
            LossCause cause = held.lease.state().cause();
            throw new LeaseLostException(
                    name,
                    cause != null ? cause : LossCause.NOT_OURS,
                    "it had ended before unlock(); what it protected may have been used by others");
        }
    }

    @Override
    public Optional<ReleaseOutcome> release() {
        return Optional.ofNullable(unlockOneLevel(currentHold()));
    }

    /** Returns the outcome of the release, or null while outer levels continue with the hold. */
    private @Nullable ReleaseOutcome unlockOneLevel(ReentrantHolds.Counted held) {
        held.count--;
        if (held.count > 0) {
            return null;
        }
        holds.end(name);
        return pair.end(held);
    }

    private ReentrantHolds.Counted currentHold() {
        ReentrantHolds.Counted held = holds.ofCurrentThread(name);
        if (held == null) {
            throw new IllegalMonitorStateException(
                    "thread \"" + Thread.currentThread().getName() + "\" does not hold " + label
                            + "; only the thread that locked it may use or unlock it");
        }
        return held;
    }

    @Override
    public long fencingToken() {
        return currentHold().lease.fencingToken();
    }

    @Override
    public Duration remainingValidity() {
        return currentHold().lease.remainingValidity();
    }

    @Override
    public void ensureValidFor(Duration duration) {
        reportingLoss(currentHold(), lease -> lease.ensureValidFor(duration));
    }

    @Override
    public void renew() {
        reportingLoss(currentHold(), Lease::renew);
    }

    /** Records that this thread was notified of the end of its hold. */
    static void reportingLoss(ReentrantHolds.Counted held, Consumer<Lease> use) {
        try {
            use.accept(held.lease);
            held.endReported = false;
        } catch (LeaseLostException e) {
            held.endReported = true;
            throw e;
        }
    }

    @Override
    public void onLost(Consumer<? super LossCause> callback) {
        currentHold().register(lease -> lease.onLost(callback));
    }

    @Override
    public void interruptOnLoss() {
        currentHold().register(LeaseHandle::interruptOnLoss);
    }

    @Override
    public boolean isHeldByCurrentThread() {
        ReentrantHolds.Counted held = holds.ofCurrentThread(name);
        if (held == null) {
            return false;
        }
        try {
            reportingLoss(held, ReentrantView::checkConfirmed);
        } catch (LeaseLostException | LockStoreException | IllegalStateException over) {
            // This includes a hold that was not confirmed or is no longer renewed: this thread may leave its section
            // without an unlock().
            held.endReported = true;
            held.lease.loseUnconfirmed();
        }
        return !held.endReported;
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
