package io.leasehold.spi;

import io.leasehold.Guarantees;
import io.leasehold.LockName;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * A store of locks, as the engine sees it: no ballots, no threads, no waiting.
 *
 * <p><b>Contract.</b> Every method returns at once. {@code acquire}, {@code renew} and {@code release}
 * always complete their future, normally, within the request's time limit: failures are replies. Futures may complete on any
 * thread; dependent stages must not block it. A store never repeats a request by itself, except an {@code acquire} of the same
 * owner token with a higher ballot.
 */
public interface LockStore extends AutoCloseable {

    /** A description of the store for logs and messages, without secrets. */
    String description();

    /** The promises of the store. */
    Guarantees guarantees();

    /** The largest ttl it accepts; the engine refuses larger ones. */
    default Duration maxTtl() {
        return Duration.ofHours(24);
    }

    /** Whether it can grant a request for all these locks atomically, all or none. */
    default boolean isAtomicOver(List<LockName> names) {
        return names.size() == 1;
    }

    /**
     * Whether an answer combines those of several nodes, each with its
     * {@linkplain AcquireRequest#nodeTimeoutNanos own time limit}; else the store is the node.
     */
    default boolean isOfNodes() {
        return false;
    }

    /** Registers the engine's listener; called once, before any request. */
    void listen(StoreSignals signals);

    /**
     * Requests the locks. A request that does not {@linkplain AcquireRequest#isWaiting() wait}, and is refused, is the last one of its owner token.
     */
    CompletableFuture<AcquireReply> acquire(AcquireRequest request);

    /** Extends grants; at a store with sessions, reports until when the session keeps them. */
    CompletableFuture<RenewReply> renew(RenewBatch batch);

    /** Ends an owner token: one operation for release, undo and withdrawal of a waiter. */
    CompletableFuture<ReleaseReply> release(ReleaseRequest request);

    /** Inspects its locks, and releases one by force. */
    StoreAdmin admin();

    /** Its further operations for operators. */
    default StoreOperations operations() {
        return StoreOperations.none();
    }

    /**
     * Ends connections and threads, and completes unanswered requests with a failure. Holds stay until their ttl.
     */
    @Override
    void close();
}
