package io.leasehold.spi;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * A store of locks, as seen by the engine: no ballots, no threads, no waiting.
 *
 * <p><b>Contract.</b> Every method returns at once. {@code acquire}, {@code renew} and {@code release} always complete
 * their future, normally, within the request's time limit: failures are replies. Futures may complete on any thread;
 * dependent stages must not block it. A store never repeats a request on its own, except an {@code acquire} of the same
 * owner token with a higher ballot.
 */
public interface LockStore extends LockKeeper {

    /** The largest ttl that the store accepts; the engine refuses larger ones. */
    default Duration maxTtl() {
        return Duration.ofHours(24);
    }

    /**
     * Whether the store combines the answers of several nodes, each with its
     * {@linkplain AcquireRequest#nodeTimeoutNanos own time limit}; otherwise the store is the node.
     */
    default boolean isOfNodes() {
        return false;
    }

    /** The operations on the store's nodes, if it is a set of nodes that an operator can declare new. */
    default Optional<MemberSet> members() {
        return Optional.empty();
    }

    /**
     * Requests the locks. If a request does not {@linkplain AcquireRequest#isWaiting() wait} and is refused, it is the
     * last one of its owner token. A grant may have another owner token than its request; then the store accepts an
     * undo of either.
     */
    CompletableFuture<AcquireReply> acquire(AcquireRequest request);

    /**
     * Continues an exported lease: if the ticket's owner token has the lock, the request's owner token replaces it, with
     * a fencing token above the fence. The request's ttl replaces the rest of the claim, even if that is longer. If the
     * request's owner token has the lock already, the answer is the same, and the hold never ends earlier. In every
     * other case, even if the lock is free, nothing changes and the answer is {@link AcquireReply.Busy}. The engine
     * calls it only if the store {@linkplain #keepsTickets() keeps tickets}, repeats it with the same owner token until
     * it is answered, and never undoes it.
     *
     * @param request one lock, with a fresh owner token, which does not wait
     * @param ticket the owner token of the ticket
     */
    default CompletableFuture<AcquireReply> resume(AcquireRequest request, OwnerToken ticket) {
        throw new UnsupportedOperationException(description() + " does not keep locks for tickets");
    }

    /**
     * Makes a reader of the writer, in one step: if the writer's owner token has the lock, the request's owner token holds
     * it as a reader instead, with a fencing token above the fence. If the request's owner token is a reader already, the
     * answer is the same, and its hold never ends earlier. In every other case, even if the lock is free, nothing changes
     * and the answer is {@link AcquireReply.Busy}. The engine calls it only if the store {@linkplain #keepsReaders() keeps
     * readers}, and repeats it with the same owner token until it is answered.
     *
     * @param request one lock {@linkplain io.leasehold.LockName#asRead() as a reader}, with a fresh owner token, which
     *     does not wait
     * @param writer the owner token of the writer
     */
    default CompletableFuture<AcquireReply> downgrade(AcquireRequest request, OwnerToken writer) {
        throw new UnsupportedOperationException(description() + " does not grant a lock to several readers");
    }
}
