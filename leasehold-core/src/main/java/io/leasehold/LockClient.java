package io.leasehold;

import io.leasehold.admin.LockAdmin;
import java.time.Duration;
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

    /** Administrative operations. */
    LockAdmin admin();

    /** The promises of the connected store. */
    Guarantees guarantees();

    /**
     * The largest ttl, with its {@linkplain LockOptions#lockDelay lock delay}, that the connected store accepts; an attempt with
     * more fails with {@link UnsafeStoreException}, and so does connecting with more as a default.
     */
    Duration maxTtl();

    /** The public id under which this client holds locks: host, pid, client, label. */
    String holderId();

    /** A description of the store for logs and messages, without secrets. */
    String storeDescription();

    /** Closes with a patience of five seconds: see {@link #close(Duration)}. */
    @Override
    void close();

    /**
     * Stops acquiring (waiting attempts fail with {@link IllegalStateException}), tells the holders of all remaining leases
     * ({@link LossCause#CLIENT_CLOSED}), waits up to half of {@code patience} for those in other threads to release them, ends
     * the rest at the store, and waits for the store's answers. A lease that could not be ended ends with its ttl. A JVM that
     * exits without this leaves its leases to end by themselves, unless the client was set up with
     * {@link Leasehold.Builder#releaseOnShutdown}. A lock with a {@linkplain LockOptions#lockDelay lock delay} that its holder
     * has not released is left to end by itself. Not interruptible; the flag is kept.
     *
     * <p>While another thread closes the client, this waits for that, for up to {@code patience}; a call from inside the close, on
     * the thread that closes, returns at once.
     */
    void close(Duration patience);
}
