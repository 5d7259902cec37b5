package io.leasehold.engine;

import io.leasehold.LockName;
import io.leasehold.WriteLease;

/** The exclusive lock of a {@link NamedSharedLock}: the lock of that name, whose lease can become that of a reader. */
final class NamedWrites extends AbstractLock<WriteLease> {

    private final LockName name;

    NamedWrites(LockName name, WaitSettings settings, Attempts attempts) {
        super(settings, attempts);
        this.name = name;
    }

    @Override
    String what() {
        return "lock \"" + name + "\"";
    }

    @Override
    PendingAttempt<WriteLease> enter(long maxWaitNanos) {
        return attempts.enterWrite(name, settings, maxWaitNanos);
    }

    @Override
    void refuseSelfWait() {
        attempts.refuseSelfWait(name);
    }

    @Override
    public String toString() {
        return "Writer[" + name + " at " + attempts.storeDescription() + "]";
    }
}
