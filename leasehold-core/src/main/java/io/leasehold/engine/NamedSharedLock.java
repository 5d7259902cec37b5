package io.leasehold.engine;

import io.leasehold.Acquirable;
import io.leasehold.Lease;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.SharedLock;
import io.leasehold.WriteLease;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.function.UnaryOperator;

/** A lock for readers and writers by its name: stateless. */
final class NamedSharedLock implements SharedLock {

    private final NamedLock lock;
    private final WaitSettings settings;
    private final Attempts attempts;

    NamedSharedLock(LockName name, WaitSettings settings, Attempts attempts) {
        this.lock = new NamedLock(name, settings, attempts);
        this.settings = settings;
        this.attempts = attempts;
    }

    @Override
    public LockName name() {
        return lock.name();
    }

    @Override
    public LockOptions options() {
        return settings.options();
    }

    @Override
    public Acquirable<Lease> read() {
        return reads();
    }

    private NamedReads reads() {
        LeaseDowngrade.requireReaders(name(), attempts.context().store());
        return new NamedReads(name(), settings, attempts);
    }

    @Override
    public Acquirable<WriteLease> write() {
        return new NamedWrites(name(), settings, attempts);
    }

    @Override
    public SharedLock with(UnaryOperator<LockOptions> change) {
        return new NamedSharedLock(name(), lock.changed(change), attempts);
    }

    @Override
    public ReadWriteLock asReadWriteLock() {
        return new ReadWriteView(lock, reads(), attempts);
    }

    @Override
    public String toString() {
        return "SharedLock[" + name() + " at " + attempts.storeDescription() + "]";
    }
}
