package io.leasehold.spi;

import io.leasehold.LockName;
import java.util.List;
import java.util.Objects;

/**
 * A request for one or more locks, all or nothing.
 *
 * <p>An attempt keeps its owner token through all its requests (rechecks, retries after a lost reply). A store that
 * finds the lock held by this very owner token answers {@link AcquireReply.Granted}.
 *
 * <p>Immutable. {@link #exclusive} creates a basic request, and withers extend it.
 */
public final class AcquireRequest {

    private final List<LockName> names;
    private final OwnerToken owner;
    private final String holderId;
    private final long ttlNanos;
    private final long timeoutNanos;
    private final boolean patient;
    private final Rest rest;

    /** The values of the withers; times in nanoseconds. */
    private record Rest(long nodeTimeout, int reserve, long seen, long recheck, long claim, long ballot, long proven) {}

    private AcquireRequest(
            List<LockName> names,
            OwnerToken owner,
            String holderId,
            long ttlNanos,
            long timeoutNanos,
            boolean patient,
            Rest rest) {
        this.names = names;
        this.owner = owner;
        this.holderId = holderId;
        this.ttlNanos = ttlNanos;
        this.timeoutNanos = timeoutNanos;
        this.patient = patient;
        this.rest = rest;
    }

    private AcquireRequest with(Rest other) {
        return new AcquireRequest(names, owner, holderId, ttlNanos, timeoutNanos, patient, other);
    }

    /**
     * Creates a request for exclusive holds.
     *
     * @param names the locks without duplicates, in any order
     * @param ttlNanos the time for which the store keeps the locks without renewal
     * @param timeoutNanos the time limit after which the store must complete the reply with a failure
     */
    public static AcquireRequest exclusive(
            List<LockName> names, OwnerToken owner, String holderId, long ttlNanos, long timeoutNanos) {
        if (names.isEmpty()) {
            throw new IllegalArgumentException("an acquire request needs at least one lock name");
        }
        return new AcquireRequest(
                names.size() == 1
                        ? List.copyOf(names)
                        : names.stream().sorted().distinct().toList(),
                Objects.requireNonNull(owner, "owner"),
                Objects.requireNonNull(holderId, "holderId"),
                ttlNanos,
                timeoutNanos,
                false,
                new Rest(0, 1, 0, 0, 0, 0, 0));
    }

    /** Requests a range of {@code count} fencing tokens: one for the caller, one for each local waiter behind it. */
    public AcquireRequest reserve(int count) {
        return with(new Rest(rest.nodeTimeout, count, rest.seen, rest.recheck, rest.claim, rest.ballot, rest.proven));
    }

    /**
     * Sets the time for which a store of several nodes waits for each of them; zero (the default) means the store's own
     * configuration.
     */
    public AcquireRequest nodeTimeout(long timeout) {
        return with(new Rest(timeout, rest.reserve, rest.seen, rest.recheck, rest.claim, rest.ballot, rest.proven));
    }

    /** Sets the largest fencing token that this client has seen for these locks; only saves a round trip. */
    public AcquireRequest seenToken(long token) {
        return with(
                new Rest(rest.nodeTimeout, rest.reserve, token, rest.recheck, rest.claim, rest.ballot, rest.proven));
    }

    /**
     * Declares that the caller waits if the lock is busy. A store with a queue records the owner token as a waiter,
     * answers {@link AcquireReply.Queued}, and wakes the client by {@link StoreSignals#wake}. A waiter that gives up is
     * withdrawn by an undo: a release of kind {@link ReleaseRequest.Kind#UNDO}.
     *
     * @param recheckNanos the longest time after which the caller asks again; a store may forget a waiter that has been
     *     silent for clearly longer than that
     */
    public AcquireRequest waiting(long recheckNanos) {
        return with(new Rest(
                rest.nodeTimeout, rest.reserve, rest.seen, recheckNanos, rest.claim, rest.ballot, rest.proven));
    }

    /**
     * Declares that the caller asks again if the lock is busy, with another owner token and without a place in a queue.
     * So a store of several nodes waits for each of them only as long as for a waiter: with one silent node, this
     * request need not last until its time limit.
     */
    public AcquireRequest patient() {
        return new AcquireRequest(names, owner, holderId, ttlNanos, timeoutNanos, true, rest);
    }

    /**
     * Lets the store hand the lock over to the waiting caller in the step that frees it
     * ({@link StoreSignals#handedOver}), for this time. The caller must ask again within the time, or it loses the lock
     * and its place. Zero (the default) means that the caller is only woken.
     */
    public AcquireRequest claiming(long claim) {
        return with(new Rest(rest.nodeTimeout, rest.reserve, rest.seen, rest.recheck, claim, rest.ballot, rest.proven));
    }

    /**
     * Sets the highest fencing token proposed so far under this owner token. The next proposal is larger, even if the
     * node's clock seems to have gone back: two requests with one candidate could not be distinguished.
     */
    public AcquireRequest ballotSoFar(long ballot) {
        return with(new Rest(rest.nodeTimeout, rest.reserve, rest.seen, rest.recheck, rest.claim, ballot, rest.proven));
    }

    /**
     * Allows the ttl of a waiter that is granted the lock to begin this long before the request was sent. A store that
     * knows from an earlier request that it keeps the client's entry need not ask again. Zero (the default) means that
     * the ttl begins with this request.
     */
    public AcquireRequest provenWithin(long proven) {
        return with(new Rest(rest.nodeTimeout, rest.reserve, rest.seen, rest.recheck, rest.claim, rest.ballot, proven));
    }

    /** The locks, sorted, at least one. */
    public List<LockName> names() {
        return names;
    }

    /**
     * The only lock, for stores that take one lock at a time.
     *
     * @throws UnsupportedOperationException if the request has several locks
     */
    public LockName name() {
        if (names.size() != 1) {
            throw new UnsupportedOperationException("this store takes one lock at a time, not " + names.size());
        }
        return names.get(0);
    }

    /** The proof of ownership; the same for the whole attempt. */
    public OwnerToken owner() {
        return owner;
    }

    /** The public id of the future holder. */
    public String holderId() {
        return holderId;
    }

    /** The time for which the store keeps the locks without renewal. */
    public long ttlNanos() {
        return ttlNanos;
    }

    /** The time limit after which the store completes its reply with a failure. */
    public long timeoutNanos() {
        return timeoutNanos;
    }

    /** The time for which a store of several nodes waits for each of them; zero means the store's own configuration. */
    public long nodeTimeoutNanos() {
        return rest.nodeTimeout;
    }

    /** The number of fencing tokens to reserve, at least 1. */
    public int reserve() {
        return rest.reserve;
    }

    /** The largest fencing token seen for these locks, or zero. */
    public long seenToken() {
        return rest.seen;
    }

    /** Whether the caller waits if the lock is busy. */
    public boolean isWaiting() {
        return rest.recheck > 0;
    }

    /** Whether the caller asks again if the lock is busy: it waits, or is {@link #patient}. */
    public boolean isPatient() {
        return patient || isWaiting();
    }

    /** The longest time after which a waiting caller asks again; zero if it does not wait. */
    public long recheckNanos() {
        return rest.recheck;
    }

    /** The time within which a waiting caller must claim a hand-over; zero for no hand-over. */
    public long claimNanos() {
        return rest.claim;
    }

    /** The highest fencing token proposed so far under this owner token, or zero. */
    public long ballotSoFar() {
        return rest.ballot;
    }

    /** The time by which the ttl of a waiter may begin before the request was sent. */
    public long provenWithinNanos() {
        return rest.proven;
    }

    @Override
    public String toString() {
        return "acquire" + names + " by " + holderId;
    }
}
