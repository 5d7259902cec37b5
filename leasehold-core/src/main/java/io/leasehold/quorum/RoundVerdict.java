package io.leasehold.quorum;

import io.leasehold.Holder;
import io.leasehold.spi.TokenRange;
import org.jspecify.annotations.Nullable;

/** How a round of ballots ends. Pure. */
sealed interface RoundVerdict {

    /** A quorum said yes to one ballot. */
    record Won(TokenRange tokens, long sentAtNanos) implements RoundVerdict {}

    /**
     * Nodes that could have made a quorum do not, because others hold them.
     *
     * @param holder the one that holds most of them
     * @param holds whether so many are held by others that no other client can have a quorum; else votes were split
     * @param queued how many nodes will wake us
     */
    record Contended(@Nullable Holder holder, boolean holds, int queued) implements RoundVerdict {}

    /** Nodes that could have made a quorum may not grant now. */
    record Refused(String reason, long retryNanos) implements RoundVerdict {}

    /** So many nodes failed that there was no quorum. */
    record NoQuorum(boolean permanent) implements RoundVerdict {}
}
