package io.leasehold.engine;

import io.leasehold.LockName;
import io.leasehold.ReentrantLockView;
import java.util.concurrent.locks.ReadWriteLock;

/** A lock as a {@link ReadWriteLock}: the reentrant views of the exclusive lock and of its readers. */
final class ReadWriteView implements ReadWriteLock {

    private final LockName name;
    private final ReentrantLockView readLock;
    private final ReentrantLockView writeLock;

    ReadWriteView(NamedLock lock, NamedReads readers, Attempts attempts) {
        this.name = lock.name();
        ReadWritePair pair = new ReadWritePair(name, attempts);
        this.readLock = pair.reader(readers);
        this.writeLock = pair.writer(lock);
    }

    @Override
    public ReentrantLockView readLock() {
        return readLock;
    }

    @Override
    public ReentrantLockView writeLock() {
        return writeLock;
    }

    @Override
    public String toString() {
        return "ReadWriteLock[" + name + "]";
    }
}
