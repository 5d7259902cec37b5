package io.leasehold.engine;

import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.MultiLease;
import io.leasehold.MultiLock;
import java.util.List;
import java.util.function.UnaryOperator;

/** Several locks by their names: stateless; each acquiring method starts one {@link MultiAcquire}. */
final class NamedLocks extends AbstractLock<MultiLease> implements MultiLock {

    private final List<LockName> names;

    NamedLocks(List<LockName> names, WaitSettings settings, Attempts attempts) {
        super(settings, attempts);
        this.names = names.stream().sorted().distinct().toList();
    }

    @Override
    String what() {
        return "locks " + names;
    }

    @Override
    PendingAttempt<MultiLease> enter(long maxWaitNanos) {
        return attempts.enterAll(names, settings, maxWaitNanos);
    }

    @Override
    void refuseSelfWait() {
        names.forEach(attempts::refuseSelfWait);
    }

    @Override
    public List<LockName> names() {
        return names;
    }

    @Override
    public MultiLock with(UnaryOperator<LockOptions> change) {
        return new NamedLocks(names, changed(change), attempts);
    }

    @Override
    public String toString() {
        return "MultiLock" + names + " at " + attempts.storeDescription();
    }
}
