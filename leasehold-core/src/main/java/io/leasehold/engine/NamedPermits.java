package io.leasehold.engine;

import io.leasehold.Acquirable;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.MultiPermit;
import io.leasehold.Permit;
import io.leasehold.Permits;
import java.util.function.UnaryOperator;

/** Permits by their name: stateless; each acquiring method starts one {@link AcquireAttempt}. */
final class NamedPermits extends AbstractLock<Permit> implements Permits {

    private final LockName name;

    /**
     * Creates the permits.
     *
     * @param name a name with a count
     */
    NamedPermits(LockName name, WaitSettings settings, Attempts attempts) {
        super(settings, attempts);
        this.name = name;
    }

    @Override
    String what() {
        return "permits \"" + name + "\"";
    }

    @Override
    PendingAttempt<Permit> enter(long maxWaitNanos) {
        return attempts.enterPermits(name, settings, maxWaitNanos);
    }

    /** Refuses nothing: a thread may hold several permits, and another thread may release one of them. */
    @Override
    void refuseSelfWait() {}

    @Override
    public LockName name() {
        return name;
    }

    @Override
    public int count() {
        return name.permitCount();
    }

    @Override
    public Permits with(UnaryOperator<LockOptions> change) {
        return new NamedPermits(name, changed(change), attempts);
    }

    @Override
    public Acquirable<MultiPermit> several(int number) {
        return new SeveralPermits(name, number, settings, attempts);
    }

    @Override
    public String toString() {
        return "Permits[" + count() + " of " + name + " at " + attempts.storeDescription() + "]";
    }
}
