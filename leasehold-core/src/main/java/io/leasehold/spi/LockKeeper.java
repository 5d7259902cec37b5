package io.leasehold.spi;

import io.leasehold.Guarantees;
import io.leasehold.LockName;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * The common part of a {@link LockStore} and of a node that answers ballots: it keeps locks, however they are granted.
 *
 * <p><b>Contract.</b> Every method returns at once. Futures of {@code renew} and {@code release} always complete normally, within
 * the request's time limit: failures are replies. They may complete on any thread; dependent stages must not block it.
 */
public interface LockKeeper extends AutoCloseable {

    /** A description for logs and messages, without secrets. */
    String description();

    /** Its promises; those of a node if it is a store alone. */
    Guarantees guarantees();

    /** Whether it can grant a request for all these locks atomically, all or none. */
    default boolean isAtomicOver(List<LockName> names) {
        return names.size() == 1;
    }

    /** Registers the listener of the engine, or of the client's store; called once, before any request. */
    void listen(StoreSignals signals);

    /**
     * Extends grants whose owner tokens still hold, and changes nothing else; at a store with sessions, reports until when the session
     * keeps them. The {@code sentAtNanos} of its answers are by the clock of the client's runtime.
     */
    CompletableFuture<RenewReply> renew(RenewBatch batch);

    /** Ends an owner token, and raises the fence to the request's ballot: one operation for release, undo and withdrawal of a waiter. */
    CompletableFuture<ReleaseReply> release(ReleaseRequest request);

    /** Inspects its locks, and releases one by force. */
    StoreAdmin admin();

    /** Its further operations for operators. */
    default StoreOperations operations() {
        return StoreOperations.none();
    }

    /** Ends connections and threads, and completes unanswered requests with a failure. Holds stay until their ttl. */
    @Override
    void close();
}
