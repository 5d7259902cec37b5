package io.leasehold.spi;

import io.leasehold.Guarantees;
import io.leasehold.LockName;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * The common part of a {@link LockStore} and of a node that answers ballots: the operations on granted locks.
 *
 * <p><b>Contract.</b> Every method returns at once. Futures of {@code renew}, {@code release}, {@code export} and {@code
 * nameSuccessor} always complete normally, within the request's time limit: failures are replies. They may complete on any thread; dependent
 * stages must not block it.
 */
public interface LockKeeper extends AutoCloseable {

    /** A description for logs and messages, without secrets. */
    String description();

    /** The promises of the store; for a node, its promises as a single store. */
    Guarantees guarantees();

    /** Whether the store can grant a request for all these locks atomically, all or none. */
    default boolean isAtomicOver(List<LockName> names) {
        return names.size() == 1;
    }

    /** Registers the listener of the engine or of the client's store; called once, before any request. */
    void listen(StoreSignals signals);

    /**
     * Extends the grants whose owner tokens still hold their locks, and changes nothing else. A store with sessions
     * reports how long the session keeps them. The {@code sentAtNanos} of its answers are by the clock of the client's
     * runtime.
     */
    CompletableFuture<RenewReply> renew(RenewBatch batch);

    /**
     * Ends an owner token, and raises the fence to the request's ballot: one operation for release, undo and withdrawal
     * of a waiter.
     */
    CompletableFuture<ReleaseReply> release(ReleaseRequest request);

    /**
     * Whether the store can keep a lock for a ticket. If not, the engine refuses to export and to resume, and calls
     * neither {@link #export} nor the operation that resumes.
     */
    default boolean keepsTickets() {
        return false;
    }

    /** Ends an owner token that holds a lock, and keeps the lock for a ticket: see {@link ExportRequest}. */
    default CompletableFuture<ExportReply> export(ExportRequest request) {
        throw new UnsupportedOperationException(description() + " does not keep locks for tickets");
    }

    /**
     * Whether the store can grant a lock to several readers at once. Requests for readers name the lock as {@link
     * LockName#asRead()}. If not (the default), the engine refuses the caller and sends no such request.
     */
    default boolean keepsReaders() {
        return false;
    }

    /**
     * Whether the holder of a lock can name the waiter that gets it next. If not (the default), the engine refuses the caller
     * and does not call {@link #nameSuccessor}.
     */
    default boolean namesSuccessors() {
        return false;
    }

    /** Puts a waiter before all others: see {@link SuccessorRequest}. */
    default CompletableFuture<SuccessorReply> nameSuccessor(SuccessorRequest request) {
        throw new UnsupportedOperationException(description() + " does not let a holder name its successor");
    }

    /** The operations that inspect locks and release one by force. */
    StoreAdmin admin();

    /**
     * The operations on permits; empty (the default) if this store keeps none. The engine then sends no request for
     * permits, and refuses the caller.
     */
    default Optional<StorePermits> permits() {
        return Optional.empty();
    }

    /** Further operations for operators. */
    default StoreOperations operations() {
        return StoreOperations.none();
    }

    /** Ends connections and threads, and completes unanswered requests with a failure. Holds stay until their ttl. */
    @Override
    void close();
}
