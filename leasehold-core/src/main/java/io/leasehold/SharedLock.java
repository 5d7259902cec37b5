package io.leasehold;

import java.util.concurrent.locks.ReadWriteLock;
import java.util.function.UnaryOperator;

/**
 * A lock that several readers share, or one writer holds alone.
 *
 * <p><b>Guarantee.</b> While a write lease is valid, no other lease of the lock is; while read leases are valid, no write
 * lease is: under the conditions of the store's {@link Guarantees}. {@link #write()} is the exclusive lock of the same
 * name, so {@link LockClient#named} excludes readers, too. Each reader has its own end: a process that crashes keeps
 * writers out for at most one ttl, however many others read.
 *
 * <p><b>Order.</b> Readers and writers wait in one queue, in the store's {@link Guarantee.Queueing}: at a store that
 * promises {@code FIFO}, a reader that comes after a waiting writer waits behind it, and neighbouring readers are let in
 * together.
 *
 * <p><b>Readers of one process</b> with the same options share one hold at the store: a reader joins if it comes while
 * the request is on its way, or within 15 ms after the grant. They then have the same fencing token, and {@link
 * LockOptions#maxHold} counts from the grant. The last of them releases the hold. A later reader gets a hold of its own.
 *
 * <p><b>Tokens.</b> The fencing token of a reader is larger than that of every earlier writer, and that of a writer is
 * larger than those of all earlier leases. Tokens of readers are not ordered among each other.
 *
 * <p><b>No upgrade.</b> Two readers that both wait to become writers would wait for each other forever. Release the
 * read lease and acquire the write lease, then check again what was read; or acquire {@link #write()} first and {@link
 * WriteLease#downgrade() downgrade}.
 *
 * <p>Stateless and safe for use by any thread: create it where you need it.
 */
public interface SharedLock {

    /** The name; that of the exclusive lock. */
    LockName name();

    /** The options with which this object acquires. */
    LockOptions options();

    /**
     * The lock for readers. The {@linkplain Lease#lockName() name} of its leases {@linkplain LockName#isRead() is that of
     * readers}, and they cannot be exported.
     *
     * <p>A wait without limit is refused with {@link IllegalStateException} if the calling thread itself holds a read
     * lease or the write lease, by a renewed lease that no other thread has used: a writer that waits in between would
     * make the thread wait for itself.
     *
     * @throws UnsafeStoreException if the store does not keep readers
     */
    Acquirable<Lease> read();

    /**
     * The exclusive lock of this name. A wait without limit is refused with {@link IllegalStateException} if the calling
     * thread itself holds a read lease, or the write lease: it would wait for itself.
     */
    Acquirable<WriteLease> write();

    /** The same lock with other options; the options of the client and of leases already held do not change. */
    SharedLock with(UnaryOperator<LockOptions> change);

    /**
     * This lock as a {@link ReadWriteLock}, for code that expects one. Both of its locks are {@link ReentrantLockView}s,
     * reentrant per thread, and all views of one client and name share the holds of each thread. The write lock is that
     * of {@link DistributedLock#asReentrantLock()}.
     *
     * <p>As with {@link java.util.concurrent.locks.ReentrantReadWriteLock}, a thread that holds the write lock may take
     * the read lock, without a request to the store; if it then unlocks the write lock, that is {@link
     * WriteLease#downgrade()}, and may fail like it. A thread that holds the read lock only, and requests the write
     * lock, receives an {@link IllegalMonitorStateException} (also from {@code tryLock()}), and keeps the read lock.
     * {@code newCondition()} is not supported.
     *
     * @throws UnsafeStoreException if the store does not keep readers
     */
    ReadWriteLock asReadWriteLock();
}
