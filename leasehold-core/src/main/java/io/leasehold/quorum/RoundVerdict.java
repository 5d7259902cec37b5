package io.leasehold.quorum;

import io.leasehold.Holder;
import io.leasehold.spi.TokenRange;
import org.jspecify.annotations.Nullable;

/** The result of a round of ballots. Pure. */
sealed interface RoundVerdict {

    /** A quorum said yes to one ballot. */
    record Won(TokenRange tokens, long sentAtNanos) implements RoundVerdict {}

    /**
     * Other clients hold too many nodes for a quorum of this client.
     *
     * @param holder the holder of most of them
     * @param holds whether other clients hold so many nodes that no further client can win a quorum; otherwise the
     *     votes were split
     * @param queued the number of nodes that will wake this client
     */
    record Contended(@Nullable Holder holder, boolean holds, int queued) implements RoundVerdict {}

    /** Too many nodes must not grant now: no quorum said yes. */
    record Refused(String reason, long retryNanos) implements RoundVerdict {}

    /** Too many nodes failed: no quorum answered. */
    record NoQuorum(boolean permanent) implements RoundVerdict {}
}
