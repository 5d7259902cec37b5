package io.leasehold.engine;

import io.leasehold.LeaseLostException;
import io.leasehold.LockName;
import io.leasehold.ReentrantLockView;
import io.leasehold.ReleaseOutcome;
import org.jspecify.annotations.Nullable;

/**
 * The reentrant views of one lock and its readers. A thread that holds the exclusive lock enters as a reader without an
 * acquisition: both holds then have one lease, which becomes that of a reader when the thread unlocks the exclusive lock.
 *
 * <p>Stateless: the holds of threads are in {@link ReentrantHolds}, and only their thread changes them.
 */
final class ReadWritePair {

    private final LockName name;
    private final Attempts attempts;
    private final ReentrantHolds holds;

    /**
     * Creates the views.
     *
     * @param name the exclusive lock
     */
    ReadWritePair(LockName name, Attempts attempts) {
        this.name = name;
        this.attempts = attempts;
        this.holds = attempts.reentrantHolds();
    }

    ReentrantLockView writer(NamedLock lock) {
        return new ReentrantView(lock, name, holds, new Writer());
    }

    ReentrantLockView reader(NamedReads lock) {
        return new ReentrantView(lock, name.asRead(), holds, new Reader());
    }

    private ReentrantHolds.@Nullable Counted reading() {
        return holds.ofCurrentThread(name.asRead());
    }

    /** The rules for the exclusive lock. */
    private final class Writer implements ReentrantView.Pair {

        /** Refuses an upgrade: two readers that wait to become writers would wait for each other forever. */
        @Override
        public boolean enteredBeside() {
            ReentrantHolds.Counted reading = reading();
            if (reading != null && reading.isEndReported()) {
                // This thread was told of its end, and may have left its section without an unlock().
                holds.end(name.asRead());
                reading.lease.release();
            } else if (reading != null) {
                throw new IllegalMonitorStateException("thread \""
                        + Thread.currentThread().getName()
                        + "\" holds the read lock \"" + name + "\" and requests the exclusive lock: it would wait for"
                        + " itself. Unlock the read lock first, or take the exclusive lock before it");
            }
            return false;
        }

        @Override
        public ReleaseOutcome end(ReentrantHolds.Counted held) {
            ReentrantHolds.Counted reading = readingWith(held);
            return reading == null ? held.lease.release() : downgrade(held, reading);
        }

        private ReleaseOutcome downgrade(ReentrantHolds.Counted held, ReentrantHolds.Counted reading) {
            // Until a read lease has begun, the read lock is lost.
            reading.endReported = true;
            if (held.lease.state().cause() != null) {
                return held.lease.release();
            }
            LeaseHandle lease;
            try {
                lease = Futures.join(attempts.context().runtime(), attempts.downgrade(held.lease));
            } catch (LeaseLostException e) {
                return held.lease.release();
            } catch (RuntimeException | Error e) {
                if (held.lease.state().isUnreleased()) {
                    // It was refused before anything changed, and no hold of this thread has the lease any more.
                    Futures.guarded("the release of a lock that was not downgraded", held.lease::release);
                }
                throw e;
            }
            Thread thread = Thread.currentThread();
            lease.openedBy(thread);
            lease.state().owner().bindTo(thread);
            reading.downgraded(lease);
            return ReleaseOutcome.DOWNGRADED;
        }

        @Override
        public void drop(ReentrantHolds.Counted held) {
            ReentrantHolds.Counted reading = readingWith(held);
            if (reading != null) {
                reading.endReported = true;
            }
            held.lease.release();
        }

        private ReentrantHolds.@Nullable Counted readingWith(ReentrantHolds.Counted held) {
            ReentrantHolds.Counted reading = reading();
            return reading != null && reading.lease == held.lease ? reading : null;
        }
    }

    /** The rules for the lock of readers. */
    private final class Reader implements ReentrantView.Pair {

        @Override
        public boolean enteredBeside() {
            ReentrantHolds.Counted writing = holds.ofCurrentThread(name);
            if (writing == null) {
                return false;
            }
            if (writing.isEndReported()) {
                holds.end(name);
                writing.lease.release();
                return false;
            }
            ReentrantView.reportingLoss(writing, ReentrantView::checkConfirmed);
            LeaseDowngrade.requireReaders(name, attempts.context().store());
            holds.begin(name.asRead(), writing.lease, writing.limit);
            return true;
        }

        @Override
        public ReleaseOutcome end(ReentrantHolds.Counted held) {
            return isThatOfWriter(held) ? ReleaseOutcome.RELEASED : held.lease.release();
        }

        @Override
        public void drop(ReentrantHolds.Counted held) {
            if (!isThatOfWriter(held)) {
                held.lease.release();
            }
        }

        private boolean isThatOfWriter(ReentrantHolds.Counted held) {
            ReentrantHolds.Counted writing = holds.ofCurrentThread(name);
            return writing != null && writing.lease == held.lease;
        }
    }
}
