package io.leasehold.simulator;

import io.leasehold.Hold;
import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.LockName;
import io.leasehold.MultiLease;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** A lease, or several as one, that a holder has received: the loss of any part is reported, and so is its end. */
@SuppressWarnings("FutureReturnValueIgnored")
final class Shown {

    private final RunLog log;
    private final String client;
    final Hold hold;
    final Map<LockName, Long> tokens;
    private boolean givenBack;
    private boolean lostBefore;
    private boolean toldLost;
    private @Nullable HoldEnd end;

    Shown(RunLog log, String client, Hold hold, Map<LockName, Long> tokens) {
        this.log = log;
        this.client = client;
        this.hold = hold;
        this.tokens = tokens;
        hold.onLost(cause -> toldLost = true);
        hold.whenEnded().thenAccept(how -> end = how);
    }

    /** The fencing tokens of a hold, by lock. */
    static Map<LockName, Long> tokens(Hold hold) {
        Map<LockName, Long> tokens = new TreeMap<>();
        if (hold instanceof Lease lease) {
            tokens.put(lease.lockName(), lease.fencingToken());
        } else if (hold instanceof MultiLease lease) {
            lease.lockNames().forEach(lock -> tokens.put(lock, lease.fencingToken(lock)));
        }
        return tokens;
    }

    /** Records that its holder has requested the release. */
    void givenBack() {
        givenBack = true;
    }

    /** Whether its holder has requested the release. */
    boolean isGivenBack() {
        return givenBack;
    }

    /** Records that the engine knows the loss of this lease. */
    void lost(LockName name, long token) {
        lostBefore |= !givenBack && Objects.equals(tokens.get(name), token);
    }

    /** Judges the lease at the end of the run. */
    void judge() {
        if (lostBefore && !(toldLost && end instanceof HoldEnd.Lost)) {
            log.problem("untold: the loss of one of " + tokens + " of " + client + " was not reported: "
                    + (toldLost ? "the end is " + end : "nothing was called"));
        } else if (end == null) {
            log.problem("untold: the end of " + tokens + " of " + client + " was not reported");
        }
    }
}
