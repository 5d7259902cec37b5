package io.leasehold.spi;

import io.leasehold.NodeVote;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** What a {@link LockStore} that is made of several nodes can do besides. */
public interface MemberSet {

    /** The set as all its clients must describe it: its nodes, by their names, and the largest ttl. */
    String configuration();

    /**
     * Declares all nodes new: whatever they may have forgotten, nobody relies on it. Every node that can be reached takes this
     * set's configuration, and grants at once.
     *
     * @return what each node said; completes exceptionally with {@link io.leasehold.StoreUnavailableException}, before
     *     anything is written, if no quorum of them answers
     */
    CompletableFuture<List<NodeVote>> declareNew(long timeoutNanos);
}
