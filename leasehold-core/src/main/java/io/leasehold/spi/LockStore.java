package io.leasehold.spi;

import java.time.Duration;
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

    /**
     * Requests the locks. If a request does not {@linkplain AcquireRequest#isWaiting() wait} and is refused, it is the
     * last one of its owner token.
     */
    CompletableFuture<AcquireReply> acquire(AcquireRequest request);
}
