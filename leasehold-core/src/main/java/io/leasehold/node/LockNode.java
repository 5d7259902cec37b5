package io.leasehold.node;

import io.leasehold.LockName;
import io.leasehold.spi.LockKeeper;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreSignals;
import java.util.concurrent.CompletableFuture;

/**
 * A member store that answers ballots. Core turns one node, or a quorum of nodes, into a {@link LockStore}.
 *
 * <p><b>The grant rule.</b> A candidate is granted if and only if it exceeds the floor <em>and</em> the lock is free or
 * held by the same owner token. The order of the checks is: floor (else {@code Stale}), own or free ({@code
 * Yes}), held ({@code Held}). On a grant the node stores {@code candidate + reserve − 1} as its fence, and the
 * stored fence never goes down; {@code release} raises it too, even if there was nothing to release.
 *
 * <p><b>Readers.</b> A node that {@linkplain #keepsReaders() keeps readers} has a second, lower floor for ballots whose
 * name is one of {@linkplain LockName#isRead() readers}: the highest ballot of a writer, or of a reader that has ended. A
 * reader is granted if its ballot exceeds that floor, no writer holds the lock, and no writer waits before it. It raises
 * the fence, and not the floor of readers: so readers do not refuse each other, and a later writer exceeds them all. The
 * end of a reader raises both.
 *
 * <p><b>Readers at a member of a quorum.</b> A member has no queue, so a waiter that finds the lock busy keeps out others:
 * a waiting writer keeps out readers with a later {@linkplain Ballot#place place}, and a waiting reader keeps out
 * writers with a later place. Callers without a place come last; holders are never kept out. The wait is over with a
 * grant, with the end of the owner token, and if the waiter does not ask again in time. Without it, readers that come one
 * after another keep a majority of the members taken forever.
 *
 * <p>Futures always complete normally, within the request's time limit. Requests are sent at most once: a node never
 * repeats one on its own.
 */
public interface LockNode extends LockKeeper {

    /** Removes the listener of a closed client; the node may still serve other clients. */
    default void unlisten(StoreSignals signals) {}

    /** Reads the node's incarnation and clock; {@code Stale} with floor zero, or a failure. */
    CompletableFuture<NodeReply> probe(long timeoutNanos);

    /**
     * Names the part that serves this lock, if the node consists of parts (the masters of a Cluster). Each part has its
     * own clock and incarnation, and a lock can move from one to another. Empty for a node without parts.
     */
    default String part(LockName name) {
        return "";
    }

    /** Reads the incarnation and the clock of the part that serves this lock: see {@link #probe(long)}. */
    default CompletableFuture<NodeReply> probe(LockName name, long timeoutNanos) {
        return probe(timeoutNanos);
    }

    /** Proposes a ballot. */
    CompletableFuture<NodeReply> acquire(Ballot ballot);

    /**
     * Proposes a ballot to a member of a quorum: as {@link #acquire(Ballot)}, but the node first checks that it belongs
     * to this set ({@code OtherSet}), knows the age of its memory ({@code Unborn}) and has remembered for long enough
     * ({@code Refused}). A member has no queue: it records waiters only to wake them, in the order of their first
     * ballots, and grants a free lock to any client that requests it. It never hands a lock over.
     */
    CompletableFuture<NodeReply> acquire(Ballot ballot, Membership membership);

    /**
     * Proposes a ballot for an exported lease: as {@link #acquire(Ballot)}, but only the owner tokens of the ticket and
     * of the ballot may have the lock. A free lock is not granted: the answer is {@code Held} without a holder. Called
     * only if the node {@linkplain #keepsTickets() keeps tickets}.
     */
    default CompletableFuture<NodeReply> resume(Ballot ballot, OwnerToken ticket) {
        throw new UnsupportedOperationException(description() + " does not keep locks for tickets");
    }

    /** The two steps by which a claimant resumes at a quorum. */
    enum Resume {
        /** One vote of several. It does not move the end of the hold: nothing may outlive the claim of the ticket. */
        VOTE,
        /** The votes are won: the ttl of the request replaces the rest of the claim, even if that is longer. */
        HOLD
    }

    /**
     * Proposes a ballot for an exported lease to a member of a quorum: as {@link #resume(Ballot, OwnerToken)}, after the
     * checks of a member. Called only if the node {@linkplain #keepsTickets() keeps tickets}.
     */
    default CompletableFuture<NodeReply> resume(Ballot ballot, OwnerToken ticket, Resume step, Membership membership) {
        throw new UnsupportedOperationException(description() + " does not keep locks for tickets");
    }

    /**
     * Proposes a ballot for a reader that takes the place of a writer: see {@link LockStore#downgrade}. The ballot must
     * exceed the fence, as that of a writer. Called only if the node {@linkplain #keepsReaders() keeps readers}.
     */
    default CompletableFuture<NodeReply> downgrade(Ballot ballot, OwnerToken writer) {
        throw new UnsupportedOperationException(description() + " does not grant a lock to several readers");
    }

    /**
     * The same at a member of a quorum, after the checks of a member. A quorum of such readers is the read lease. Called
     * only if the node {@linkplain #keepsReaders() keeps readers}.
     */
    default CompletableFuture<NodeReply> downgrade(Ballot ballot, OwnerToken writer, Membership membership) {
        throw new UnsupportedOperationException(description() + " does not grant a lock to several readers");
    }

    /**
     * Tells a member the age of its memory; {@code Stale} with floor zero if the member has accepted it,
     * {@code Refused} if its life has changed or it knows its birth already, or a failure.
     */
    CompletableFuture<NodeReply> birth(Birth birth);
}
