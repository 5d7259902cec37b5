package io.leasehold;

import io.leasehold.admin.LockAdmin;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/**
 * A connection to one store, which creates locks.
 *
 * <p>Create one per process and store, and share it: all threads may use it. It owns the timer that
 * renews leases, so a lease lives only as long as its client.
 */
public interface LockClient extends AutoCloseable {

    /** The lock with this name; no I/O. */
    DistributedLock named(LockName name);

    /**
     * The lock with exactly this name; no I/O.
     *
     * @throws IllegalArgumentException if the text is not a valid {@link LockName}
     */
    default DistributedLock named(String name) {
        return named(LockName.exactly(name));
    }

    /**
     * Several locks, to be acquired together; no I/O.
     *
     * @throws IllegalArgumentException if there is none
     */
    MultiLock all(LockName... names);

    /**
     * Several locks with exactly these names, to be acquired together; no I/O.
     *
     * @throws IllegalArgumentException if a text is not a valid {@link LockName}
     */
    default MultiLock all(String first, String... more) {
        return all(Stream.concat(Stream.of(first), Stream.of(more))
                .map(LockName::exactly)
                .toArray(LockName[]::new));
    }

    /** The election with this name; no I/O. */
    Election election(LockName name);

    /**
     * The election with exactly this name; no I/O.
     *
     * @throws IllegalArgumentException if the text is not a valid {@link LockName}
     */
    default Election election(String name) {
        return election(LockName.exactly(name));
    }

    /**
     * Continues a lease that was {@linkplain Lease#export exported}, by this client or another, and waits for the
     * store's answer. The lock is not acquired: if the store does not keep it for the ticket, the ticket is refused,
     * even if the lock is free.
     *
     * <p><b>Guarantee.</b> A ticket gives at most one lease, and no other client has held the lock since the export. The
     * lease has this client's default options and a larger fencing token than the exported one. Requests that fail are
     * repeated until {@code maxWait} or the ticket's claim is over. If the outcome is unknown then, call the method
     * again with the same ticket and the same client: it continues the same attempt. An attempt is not undone: if it has
     * succeeded without an answer, the lock is free after one ttl. Attempts of a client with the same ticket follow each
     * other: a later one waits, within {@code maxWait} and for at least one answer of the store.
     *
     * <p>The ttl of the lease replaces the rest of the claim. {@link LockOptions#atLeast} of the exported lease ends, and
     * that of the resumed lease counts from the resume.
     *
     * @param maxWait the longest time for repetitions; zero is one round trip
     * @throws TicketRefusedException if the store does not keep the lock for this ticket
     * @throws UnsafeStoreException if the store cannot keep a lock for a ticket, or the default ttl is above its largest
     * @throws AmbiguousAcquireException if the outcome is unknown, or that of an earlier attempt which is still in
     *     progress
     * @throws LockStoreException if the store could not serve, and nothing was changed
     * @throws IllegalArgumentException if {@code maxWait} is negative
     * @throws IllegalStateException if the client is closed
     * @throws InterruptedException if the thread is interrupted before or while it waits; the outcome is then unknown,
     *     and the next call with the same ticket and client continues the attempt
     */
    Lease resume(LeaseTicket ticket, Duration maxWait) throws InterruptedException;

    /**
     * Like {@link #resume}, without waiting; completes exceptionally in the same cases. Cancelling the future stops the
     * attempt. If the store has answered before, the lease is released, and the ticket is used. If a request is in
     * flight, it is not undone: the next call with the same ticket and client continues the attempt; without one, the
     * lock is free after one ttl. A client that closes releases what was answered by then.
     */
    CompletableFuture<Lease> resumeAsync(LeaseTicket ticket, Duration maxWait);

    /**
     * Whether the connected store can keep a lock for a ticket. If not, {@link Lease#export} and {@link #resume} are
     * refused. A client that has not reached its store yet reports true.
     */
    boolean keepsTickets();

    /**
     * Whether a leader can name its successor at the connected store. If not, {@link Candidacy#handOver} is refused. A client
     * that has not reached its store yet reports true.
     */
    boolean namesSuccessors();

    /**
     * The permits with this name: {@code count} numbered slots, each of which one caller at a time can hold; no I/O. The
     * count belongs to the lock: a client that states another one is refused with {@link PermitCountException}.
     *
     * <p>Permits and an exclusive lock of the same name have nothing in common. Redis refuses the first use of permits
     * if the lock of that name is held or was used less than a minute or so before; other stores do not compare them.
     *
     * @param count the number of permits
     * @throws IllegalArgumentException if the count is not from 1 to {@link LockName#MAX_PERMITS}
     */
    Permits permits(LockName name, int count);

    /**
     * The permits with exactly this name; no I/O.
     *
     * @param count the number of permits
     * @throws IllegalArgumentException if the text is not a valid {@link LockName}, or the count is not from 1 to
     *     {@link LockName#MAX_PERMITS}
     */
    default Permits permits(String name, int count) {
        return permits(LockName.exactly(name), count);
    }

    /**
     * The lock with this name, for readers and writers; no I/O. Its {@link SharedLock#write()} is the lock of {@link
     * #named(LockName)}.
     *
     * @throws UnsafeStoreException if the store does not keep readers; a client that has not reached its store yet
     *     refuses the attempt instead
     */
    SharedLock readWrite(LockName name);

    /**
     * The lock with exactly this name, for readers and writers; no I/O.
     *
     * @throws IllegalArgumentException if the text is not a valid {@link LockName}
     * @throws UnsafeStoreException as {@link #readWrite(LockName)}
     */
    default SharedLock readWrite(String name) {
        return readWrite(LockName.exactly(name));
    }

    /**
     * Whether the connected store can grant a lock to several readers. If not, {@link #readWrite} is refused. A client
     * that has not reached its store yet reports true.
     */
    boolean keepsReaders();

    /** Administrative operations. */
    LockAdmin admin();

    /** The promises of the connected store. */
    Guarantees guarantees();

    /**
     * The largest ttl, including its {@linkplain LockOptions#lockDelay lock delay}, that the connected store accepts.
     * An attempt with a larger one fails with {@link UnsafeStoreException}, and so does a connect with a larger
     * default.
     */
    Duration maxTtl();

    /** The public id under which this client holds locks: host, pid, client, label. */
    String holderId();

    /** A description of the store for logs and messages, without secrets. */
    String storeDescription();

    /** Closes the client with a patience of five seconds: see {@link #close(Duration)}. */
    @Override
    void close();

    /**
     * Closes the client: stops acquiring (waiting attempts fail with {@link IllegalStateException}), notifies the
     * holders of all remaining leases ({@link LossCause#CLIENT_CLOSED}), waits up to half of {@code patience} for
     * holders in other threads to release them, ends the rest at the store, and waits for the store's answers. A lease
     * that could not be ended ends with its ttl. If the JVM exits without this call, leases end with their ttl, unless
     * {@link Leasehold.Builder#releaseOnShutdown} was set. A lock with a {@linkplain LockOptions#lockDelay lock delay}
     * that its holder has not released also ends with its ttl. Not interruptible; the interrupt flag is kept.
     *
     * <p>While another thread closes the client, this call waits for it, for up to {@code patience}. A call from inside
     * the close, on the closing thread, returns at once.
     */
    void close(Duration patience);
}
