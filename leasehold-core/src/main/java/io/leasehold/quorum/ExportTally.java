package io.leasehold.quorum;

import io.leasehold.spi.ExportReply;
import io.leasehold.spi.FailureKind;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The nodes at which a ticket has taken the place of a holder. Pure: it receives events, and says what they prove.
 *
 * <p>A node that has confirmed counts for the claim from its first copy on, less the drift: later copies do not extend the
 * claim. The answer that a node knows neither owner token proves a loss only if no earlier copy to this node had an unknown
 * outcome.
 */
final class ExportTally {

    /** The fact that the answers so far prove. */
    enum Verdict {
        /** A quorum keeps the lock for the ticket. */
        KEPT,
        /** So many nodes did not know the holder that no quorum had it. */
        LOST,
        /** No quorum will keep the lock for the ticket, and the holder may have had one. */
        UNCONFIRMED
    }

    private final int quorum;
    private final long keptNanos;
    private final boolean[] asked;
    private final long[] firstAtNanos;
    private final boolean[] doubtful;
    /** Whether a copy may have arrived. */
    private final boolean[] mayHave;

    private final boolean[] over;
    private final @Nullable ExportReply[] replies;

    ExportTally(int nodes, long claimNanos) {
        this.quorum = Quorum.majority(nodes);
        this.keptNanos = QuorumSettings.validityNanos(claimNanos);
        this.asked = new boolean[nodes];
        this.firstAtNanos = new long[nodes];
        this.doubtful = new boolean[nodes];
        this.mayHave = new boolean[nodes];
        this.over = new boolean[nodes];
        this.replies = new ExportReply[nodes];
    }

    /** Notes that a copy is about to be sent. */
    void sending(int node, long nowNanos) {
        firstAtNanos[node] = asked[node] ? firstAtNanos[node] : nowNanos;
        asked[node] = true;
        mayHave[node] = true;
    }

    /** Processes the answer to a copy; returns whether the node must receive another one. */
    boolean answered(int node, ExportReply reply) {
        replies[node] = reply;
        FailureKind kind = reply instanceof ExportReply.Failed failed ? failed.kind() : null;
        doubtful[node] |= kind == FailureKind.UNKNOWN;
        mayHave[node] = doubtful[node] || reply instanceof ExportReply.Exported;
        over[node] = kind == null || kind == FailureKind.PERMANENT;
        return !over[node];
    }

    /** Notes that the node receives no other copy. */
    void over(int node) {
        over[node] = true;
    }

    /** Whether no node receives another copy. */
    boolean isOver() {
        for (boolean one : over) {
            if (!one) {
                return false;
            }
        }
        return true;
    }

    /** Whether a node receives no other copy although it has not answered, so that the caller may repeat the request. */
    boolean isGivenUpAtANode() {
        for (int node = 0; node < replies.length; node++) {
            if (over[node] && (replies[node] == null || replies[node] instanceof ExportReply.Failed)) {
                return true;
            }
        }
        return false;
    }

    /** Whether any node may have written the ticket. */
    boolean mayHaveExported() {
        for (boolean one : mayHave) {
            if (one) {
                return true;
            }
        }
        return false;
    }

    /** The fact that is proved at this time, or empty if further answers may decide. */
    Optional<Verdict> verdict(long nowNanos) {
        int kept = 0;
        int gone = 0;
        int open = 0;
        for (int node = 0; node < replies.length; node++) {
            ExportReply reply = replies[node];
            boolean isKept = reply instanceof ExportReply.Exported && nowNanos - firstAtNanos[node] < keptNanos;
            kept += isKept ? 1 : 0;
            gone += reply instanceof ExportReply.NotOurs && !doubtful[node] ? 1 : 0;
            open += over[node] ? 0 : 1;
        }
        if (kept >= quorum) {
            return Optional.of(Verdict.KEPT);
        } else if (replies.length - gone < quorum) {
            return Optional.of(Verdict.LOST);
        }
        return kept + open < quorum ? Optional.of(Verdict.UNCONFIRMED) : Optional.empty();
    }

    /** Each node's last answer. */
    @Nullable
    ExportReply[] replies() {
        return replies.clone();
    }
}
