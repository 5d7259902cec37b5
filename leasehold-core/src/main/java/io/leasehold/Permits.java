package io.leasehold;

import java.util.function.UnaryOperator;

/**
 * Permits: a fixed number of numbered slots under one name, shared by all clients of the same store. Each slot has at
 * most one holder.
 *
 * <p><b>Guarantee.</b> At most {@link #count()} permits are valid at a time, and no two valid permits have the same
 * {@link Permit#slot()}, under the conditions of the store's {@link Guarantees}. A permit is a {@link Lease}: it has an
 * owner, a validity and an end, so a crashed holder's permit is free after its ttl. Fencing tokens increase on each
 * slot, and over all permits of the name at a store that keeps the count.
 *
 * <p><b>Waiting.</b> Callers wait as for a lock, with the store's {@link Guarantee.Queueing}; in a lease table, also
 * that of a SQLite file, and at a store that keeps no count, they poll ({@link LockOptions#retry()}) in no order. In
 * this process one attempt at a time contends at the store; a caller without patience asks the store at once. A thread
 * may hold several permits. Leasehold does not detect that a thread waits for a permit that only the thread itself
 * could release: pass a patience to {@link #attempt} if a holder may ask for another permit.
 *
 * <p><b>The count belongs to the lock.</b> The first client that acquires a permit sets it. An attempt that states
 * another count fails with {@link PermitCountException}, which has both numbers. An operator changes it
 * ({@link io.leasehold.admin.LockAdmin#changePermits}). After that, permits of higher slots stay valid until their
 * holders release them. Redlock, ZooKeeper and etcd keep no count: an attempt fails with that exception if it meets a
 * holder that states another count, and no operator changes it. There the largest count that a client states bounds the
 * permits.
 *
 * <p><b>Errors.</b> Those of {@link Acquirable}; also {@link PermitCountException}, and {@link UnsafeStoreException} if
 * the store does not keep permits.
 *
 * <p>Stateless and safe for use by any thread: create it where you need it.
 */
public interface Permits extends Acquirable<Permit> {

    /** The name. It is not equal to that of an exclusive lock with the same text. */
    LockName name();

    /** The number of permits that this object expects. */
    int count();

    /** The options with which this object acquires. */
    LockOptions options();

    /** The same permits with other options; the options of the client and of permits already held do not change. */
    Permits with(UnaryOperator<LockOptions> change);

    /**
     * So many of these permits at once, all or none; no I/O.
     *
     * <p><b>Guarantee.</b> A caller gets all of them or nothing, and callers do not wait for each other in a circle:
     * nothing is held while an attempt waits.
     *
     * <p><b>In one step.</b> In memory, on Redis and in a lease table, one request takes all permits. If an operator
     * takes one of them away, all end. At a store with a queue, the request has one place in it, and no later one passes
     * it. Elsewhere, the wait has no bound: callers that want fewer permits may overtake this one for as long as they
     * come.
     *
     * <p><b>In rounds.</b> Redlock, ZooKeeper and etcd take the permits one after another. If one is not free, those
     * taken are released, and the attempt begins again after the delay of {@link LockOptions#retry()}, up to doubled,
     * and at least after the time that it held permits. Meanwhile, other callers may find these permits busy. Zero
     * patience means one request for each permit, up to the first that is busy. Otherwise patience bounds the waiting;
     * requests that have begun are completed, one for each permit. The caller learns that the permits are busy, or of
     * an error, once what was taken is released. If a release fails, or is not answered within one {@linkplain
     * LockOptions#nodeTimeout() node timeout}, it is repeated in the background, and that permit is free after its ttl
     * at the latest.
     *
     * <p>A thread that holds permits and waits for more of the same name may wait for itself, as with {@link #acquire}.
     *
     * @param number how many
     * @throws IllegalArgumentException if the number is below 1 or above {@link #count()}; the message has both
     */
    Acquirable<MultiPermit> several(int number);
}
