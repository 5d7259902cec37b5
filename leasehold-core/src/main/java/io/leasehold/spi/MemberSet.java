package io.leasehold.spi;

import io.leasehold.NodeVote;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** The further operations of a {@link LockStore} that consists of several nodes: {@link LockStore#members}. */
public interface MemberSet {

    /**
     * Declares all nodes new: no client relies on any grant that they may have lost. Every reachable node takes this
     * set's configuration, and grants at once.
     *
     * @return each node's answer; completes exceptionally with {@link io.leasehold.StoreUnavailableException}, before
     *     anything is written, if no quorum of them answers
     */
    CompletableFuture<List<NodeVote>> declareNew(long timeoutNanos);
}
