package io.leasehold.engine;

import io.leasehold.Lease;
import io.leasehold.LockName;

/** The readers of a lock: stateless; each acquiring method starts one {@link ReadAttempt}. */
final class NamedReads extends AbstractLock<Lease> {

    private final LockName lock;

    /**
     * Creates the readers.
     *
     * @param lock the name of the exclusive lock
     */
    NamedReads(LockName lock, WaitSettings settings, Attempts attempts) {
        super(settings, attempts);
        this.lock = lock;
    }

    @Override
    String what() {
        return "a read lease of lock \"" + lock + "\"";
    }

    @Override
    PendingAttempt<Lease> enter(long maxWaitNanos) {
        return attempts.enterRead(lock.asRead(), settings, maxWaitNanos);
    }

    @Override
    void refuseSelfWait() {
        attempts.refuseSelfWaitOfReader(lock);
    }

    @Override
    public String toString() {
        return "Readers[" + lock + " at " + attempts.storeDescription() + "]";
    }
}
