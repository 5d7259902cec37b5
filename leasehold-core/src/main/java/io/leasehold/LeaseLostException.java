package io.leasehold;

import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Thrown if a hold has ended: another client may be using the protected resource. Stop, and do not write. */
public final class LeaseLostException extends IllegalMonitorStateException {

    private static final long serialVersionUID = 1L;

    private final LockName lockName;
    private final LossCause lossCause;
    private final transient @Nullable List<NodeVote> votes;

    /** The hold on the lock was lost for this reason. */
    public LeaseLostException(LockName lockName, LossCause lossCause, String detail) {
        this(lockName, lossCause, detail, List.of());
    }

    /** The hold on the lock was lost for this reason, at several nodes. */
    public LeaseLostException(LockName lockName, LossCause lossCause, String detail, List<NodeVote> votes) {
        super("lease on \"" + lockName + "\" was lost (" + lossCause + "): " + detail
                + (votes.isEmpty()
                        ? ""
                        : "; " + votes.stream().map(NodeVote::toString).collect(Collectors.joining("; "))));
        this.lockName = lockName;
        this.lossCause = lossCause;
        this.votes = List.copyOf(votes);
    }

    /** The lock. */
    public LockName lockName() {
        return lockName;
    }

    /** The reason. */
    public LossCause lossCause() {
        return lossCause;
    }

    /** Each node's answer to the last renewal that did not succeed; empty for a store that is one node. */
    public List<NodeVote> votes() {
        return votes == null ? List.of() : votes;
    }
}
