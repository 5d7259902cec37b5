package io.leasehold.engine;

import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.ReentrantLockView;
import java.util.function.UnaryOperator;

/** A lock by its name: stateless; each acquiring method starts one {@link AcquireAttempt}. */
final class NamedLock extends AbstractLock<Lease> implements DistributedLock {

    private final LockName name;

    NamedLock(LockName name, WaitSettings settings, Attempts attempts) {
        super(settings, attempts);
        this.name = name;
    }

    @Override
    String what() {
        return "lock \"" + name + "\"";
    }

    @Override
    PendingAttempt<Lease> enter(long maxWaitNanos) {
        return attempts.enter(name, settings, maxWaitNanos);
    }

    @Override
    void refuseSelfWait() {
        attempts.refuseSelfWait(name);
    }

    @Override
    public LockName name() {
        return name;
    }

    @Override
    public DistributedLock with(UnaryOperator<LockOptions> change) {
        return new NamedLock(name, changed(change), attempts);
    }

    @Override
    public ReentrantLockView asReentrantLock() {
        return new ReadWritePair(name, attempts).writer(this);
    }

    @Override
    public String toString() {
        return "DistributedLock[" + name + " at " + attempts.storeDescription() + "]";
    }
}
