package io.leasehold.engine;

import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.MultiLease;
import io.leasehold.MultiLock;
import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;

/** Several locks by their names: stateless; each acquiring method starts one {@link MultiAcquire}. */
final class NamedLocks extends Acquiring<MultiLease> implements MultiLock {

    private final List<LockName> names;
    private final WaitSettings settings;

    NamedLocks(List<LockName> names, WaitSettings settings, Attempts attempts) {
        super(attempts);
        this.names = names.stream().sorted().distinct().toList();
        this.settings = settings;
    }

    @Override
    String what() {
        return "locks " + names;
    }

    @Override
    Pending<MultiLease> enter(long maxWaitNanos) {
        return attempts.enterAll(names, settings, maxWaitNanos);
    }

    /** Records the thread that waited for the leases: it must not wait for them again without limit. */
    @Override
    void opened(MultiLease lease) {
        ((MultiLeaseHandle) lease).openedBy(Thread.currentThread());
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
    public LockOptions options() {
        return settings.options();
    }

    @Override
    public MultiLock with(UnaryOperator<LockOptions> change) {
        LockOptions changed = Objects.requireNonNull(change.apply(settings.options()), "options");
        return new NamedLocks(names, attempts.settings(changed), attempts);
    }

    @Override
    public String toString() {
        return "MultiLock" + names + " at " + attempts.storeDescription();
    }
}
