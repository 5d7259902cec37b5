package io.leasehold.quorum;

import io.leasehold.Holder;
import io.leasehold.spi.TokenRange;
import org.jspecify.annotations.Nullable;

/** The result of a round of ballots. Pure. */
sealed interface RoundVerdict {

    /** A quorum said yes to one ballot. */
    record Won(TokenRange tokens, long sentAtNanos) implements RoundVerdict {}

    /**
     * Other clients hold so many nodes that no quorum said yes.
     *
     * @param holder the holder of most of them
     * @param holds whether others hold so many nodes that no other client can have a quorum; else votes were split
     * @param queued the number of nodes that will wake this client
     */
    record Contended(@Nullable Holder holder, boolean holds, int queued) implements RoundVerdict {}

    /** So many nodes must not grant now that no quorum said yes. */
    record Refused(String reason, long retryNanos) implements RoundVerdict {}

    /** So many nodes failed that there was no quorum. */
    record NoQuorum(boolean permanent) implements RoundVerdict {}
}
