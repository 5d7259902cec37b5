package io.leasehold.engine;

import io.leasehold.Durations;
import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.NodeVote;
import io.leasehold.StoreUnavailableException;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The messages about leases, for exceptions and the log. */
final class LeaseMessages {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    private LeaseMessages() {}

    static LeaseLostException lost(LockName name, LossCause cause, List<NodeVote> votes, String store) {
        String detail = switch (cause) {
            case EXPIRED -> "no renewal succeeded in time at " + store;
            case NOT_OURS -> store + " reports that it is gone or has another holder";
            case FORCE_RELEASED -> "an operator released it by force";
            case MAX_HOLD -> "it reached maxHold and was no longer renewed";
            case SESSION_LOST -> "the session at " + store + " ended";
            case CLIENT_CLOSED -> "its client was closed";
            case THREAD_DIED -> "the thread that held it has died";
            case LEAKED -> "its handle was dropped without a release";
        };
        return new LeaseLostException(name, cause, detail, votes);
    }

    static IllegalArgumentException uncheckable(LockName name, Duration asked, Timings timings) {
        return new IllegalArgumentException("ensureValidFor(" + Durations.text(asked) + ") on \"" + name
                + "\": a lease with a ttl of " + Durations.text(Duration.ofNanos(timings.ttlNanos()))
                + (timings.renewed() ? " that was just renewed" : "") + " is only sure to have "
                + Durations.text(Duration.ofNanos(timings.longestCheckableNanos()))
                + " left; ask for less, or set a ttl of at least "
                + timings.ttlForChecking(Timings.saturatedNanos(asked)).toMillis() + " ms");
    }

    static IllegalStateException released(String verb, LockName name) {
        return new IllegalStateException("cannot " + verb + " the lease on \"" + name + "\": it was released");
    }

    /**
     * Returns the risk that remains after a check has waited, with the way in which its wait ended. The verdict is null
     * if the check did not wait for one.
     */
    static LeaseAtRiskException stillAtRisk(
            LeaseAtRiskException risk, Duration wanted, WaitingChecks.@Nullable Verdict verdict, LeaseOwner owner) {
        String why;
        Throwable cause = null;
        if (verdict == null) {
            boolean interrupted = Thread.currentThread().isInterrupted();
            why = interrupted
                    ? "the thread was interrupted while it waited for a renewal"
                    : "another of the locks has ended meanwhile";
        } else if (verdict instanceof WaitingChecks.RenewedNoMore stopped) {
            why = "it is no longer renewed: " + stopped.why();
        } else if (verdict instanceof WaitingChecks.Failed) {
            cause = owner.renewalFailure();
            why = "its renewal failed" + (cause == null ? "" : ": " + cause.getMessage());
        } else if (verdict instanceof WaitingChecks.Unanswered) {
            Duration limit = Duration.ofNanos(owner.settings().timings().answerNanos());
            String store = owner.context().store().description();
            why = store + " has not answered its renewal within " + limit.toMillis() + " ms";
            cause = new StoreUnavailableException("lock \"" + risk.lockName() + "\": " + why, null);
        } else if (verdict instanceof WaitingChecks.GivenBack) {
            why = "it is being released";
        } else {
            why = "after the answer of the store to its renewal";
        }
        return new LeaseAtRiskException(risk.lockName(), risk.remaining(), wanted, why, cause);
    }

    static void logAbandoned(LockName name, long token, LossCause cause, Duration held) {
        LOG.atError()
                .addKeyValue("lock", name)
                .addKeyValue("fencingToken", token)
                .addKeyValue("cause", cause)
                .addKeyValue("held", held)
                .log(
                        "lease on \"{}\" (token {}) was abandoned after {} ({}); it is no longer renewed and ends by"
                                + " itself",
                        name,
                        token,
                        Durations.text(held),
                        cause);
    }

    static void logUnreportedLoss(LockName name, long token, LossCause cause, String store) {
        LOG.atError()
                .addKeyValue("lock", name)
                .addKeyValue("fencingToken", token)
                .addKeyValue("cause", cause)
                .addKeyValue("store", store)
                .log(
                        "lease on \"{}\" (token {}) was lost ({}) while it was in use, and nothing noticed; what"
                                + " it protected may have been used by others. Use ensureValidFor, onLost or the"
                                + " fencing token.",
                        name,
                        token,
                        cause);
    }
}
