package io.leasehold.engine;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Holder;
import io.leasehold.LockStoreException;
import io.leasehold.NodeVote;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.Claim;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One attempt at the store, from its first request to exactly one outcome. Pure: events and the time come in, actions
 * go out. The shell performs the actions in order and decides nothing.
 *
 * <p>Invariants. At most one request is in flight. An undo is issued only while no request is in flight. After an undo,
 * nothing else is sent with that owner token: a later request uses a fresh one. The outcome is delivered once; after
 * it, a late reply can only lead to an undo.
 */
final class AcquireMachine {

    /** An event of an attempt. */
    sealed interface Event {}

    /** The attempt has entered the local queue. */
    record Enqueued() implements Event {}

    /** The attempt is the first in this process, and may contend. */
    record Started() implements Event {}

    /** The store has answered. */
    record Replied(AcquireReply reply, long random) implements Event {}

    /** The store signalled that a retry may succeed. */
    record Woken() implements Event {}

    /**
     * The store has given the lock to this attempt's owner token. It will answer the next request in the same way.
     *
     * @param lastToken the largest token that the store has reserved
     */
    record HandedOver(long lastToken) implements Event {}

    /**
     * The store has given the lock to this attempt's owner token, and has proved since when. The answer to this event
     * is an outcome, or nothing; then {@link HandedOver} follows.
     */
    record Claimed(Claim claim) implements Event {}

    /** The time of {@link Arm} has come, or may have come. */
    record TimerFired() implements Event {}

    /** The caller withdrew: it was interrupted or cancelled, or the client is closing. */
    record GaveUp() implements Event {}

    /** An action for the shell. */
    sealed interface Action {}

    /**
     * Send the request.
     *
     * @param freshOwner whether the request uses a new owner token
     * @param ballotSoFar the highest ballot proposed under this owner token; the next must be higher
     */
    record Send(boolean freshOwner, long ballotSoFar) implements Action {}

    /** Fire the timer at this time; this replaces the time set before. */
    record Arm(long atNanos) implements Action {}

    /** End the current owner token, raising the fence to the ballot. */
    record Undo(long ballot) implements Action {}

    /** Deliver the outcome to the caller. */
    record Finish(Outcome outcome) implements Action {}

    /** The outcome of an attempt. */
    sealed interface Outcome {}

    /**
     * The attempt has acquired the lock.
     *
     * @param ballot the highest ballot proposed under its owner token, perhaps by a request that may still arrive; the
     *     release raises the fence to this ballot
     * @param claimNanos the time for which the store keeps the lock, if the lease begins from a message; zero if the
     *     store has granted the ttl
     */
    record Acquired(Grant grant, long ballot, long claimNanos) implements Outcome {
        Acquired(Grant grant, long ballot) {
            this(grant, ballot, 0);
        }
    }

    /** Another holder has the lock. */
    record Busy(@Nullable Holder holder, List<NodeVote> votes) implements Outcome {}

    /** The store failed. */
    record Failed(LockStoreException error) implements Outcome {}

    /** The caller gave up. */
    record Abandoned() implements Outcome {}

    private enum Phase {
        LOCAL,
        IN_FLIGHT,
        PAUSED,
        /** The outcome was delivered, and the last request is in flight. */
        LEAVING,
        DONE
    }

    private final String what;
    private final Timings timings;
    private final WaitPolicy policy;
    private final long deadlineAtNanos;
    private final boolean unlimited;
    /** Zero patience is a flag, not a deadline: a clock that goes back must not cause a second request. */
    private final boolean asksOnce;
    /** Whether the store is a set of nodes. Some nodes may keep a waiter's place, whatever the set answers. */
    private final boolean ofNodes;

    private Phase phase = Phase.LOCAL;
    private boolean wakePending;
    private boolean wasQueuedLocally;
    /** Whether a request has returned, answered or failed; only the first request may outlast the deadline. */
    private boolean returned;

    /** Whether the store may remember this owner token: it is queued, or the outcome of a request is unknown. */
    private boolean remembered;

    private boolean unknown;
    private boolean freshOwner;
    private long highestBallot;
    /** Whether only failures have arrived since the last answer. */
    private boolean failing;

    private boolean stood;

    private long failingSinceAtNanos;
    private int pauses;
    private Outcome atDeadline = new Busy(null, List.of());

    /**
     * Creates an attempt that begins now.
     *
     * @param what the lock and store, for messages
     * @param maxWaitNanos the caller's patience; {@link Long#MAX_VALUE} for no limit
     * @param ofNodes whether the store is a set of nodes
     */
    AcquireMachine(String what, Timings timings, WaitPolicy policy, long maxWaitNanos, boolean ofNodes, long nowNanos) {
        this.what = what;
        this.ofNodes = ofNodes;
        this.timings = timings;
        this.policy = policy;
        this.unlimited = maxWaitNanos > Long.MAX_VALUE / 2;
        this.asksOnce = maxWaitNanos <= 0;
        this.deadlineAtNanos = unlimited ? 0 : nowNanos + maxWaitNanos;
    }

    /** Whether the attempt has not contended yet. */
    boolean isLocal() {
        return phase == Phase.LOCAL;
    }

    /** Whether the store has ever answered that the attempt waits, or that another holder has the lock. */
    boolean hasStood() {
        return stood;
    }

    /** Returns the outcome if the patience ended now. */
    Outcome atDeadline() {
        return atDeadline;
    }

    /** Whether the outcome was delivered and nothing of this attempt is in flight. */
    boolean isOver() {
        return phase == Phase.DONE;
    }

    /** The response to a lease that is offered within the process. */
    enum Offer {
        /** The lease is the outcome of this attempt. */
        ACCEPTED,
        /** The attempt already has its outcome. */
        GONE,
        /** The attempt contends at the store, which may grant it the lock. */
        CONTENDING
    }

    /** Offers a lease of this process. The attempt accepts it if it has not begun to contend. */
    Offer offered() {
        if (isTold()) {
            return Offer.GONE;
        }
        if (phase != Phase.LOCAL) {
            return Offer.CONTENDING;
        }
        phase = Phase.DONE;
        return Offer.ACCEPTED;
    }

    private boolean isTold() {
        return phase == Phase.LEAVING || phase == Phase.DONE;
    }

    /** Processes an event and returns the actions, in the order in which to perform them. */
    List<Action> on(Event event, long nowNanos) {
        if (event instanceof Enqueued) {
            return enqueued();
        } else if (event instanceof Started) {
            return started(nowNanos);
        } else if (event instanceof Replied replied) {
            return replied(replied, nowNanos);
        } else if (event instanceof Woken) {
            return woken();
        } else if (event instanceof HandedOver handedOver) {
            return handedOver(handedOver);
        } else if (event instanceof Claimed claimed) {
            return claimed(claimed.claim(), nowNanos);
        } else if (event instanceof TimerFired) {
            return timerFired(nowNanos);
        }
        return gaveUp(new Abandoned());
    }

    /**
     * Enters the queue. An attempt without patience ends here, unless its turn has already come: a request that was
     * sent is waited for.
     */
    private List<Action> enqueued() {
        wasQueuedLocally = true;
        if (asksOnce) {
            return phase == Phase.LOCAL ? gaveUp(atDeadline) : List.of();
        }
        return unlimited ? List.of() : List.of(new Arm(deadlineAtNanos));
    }

    private List<Action> started(long nowNanos) {
        if (phase != Phase.LOCAL) {
            return List.of();
        }
        if (wasQueuedLocally && expired(nowNanos)) {
            return gaveUp(atDeadline);
        }
        return send();
    }

    private List<Action> send() {
        boolean fresh = freshOwner;
        freshOwner = false;
        phase = Phase.IN_FLIGHT;
        wakePending = false;
        Action send = new Send(fresh, highestBallot);
        // Every attempt waits for its first request, so an undisturbed acquire arms no timer.
        return unlimited || !returned ? List.of(send) : List.of(new Arm(deadlineAtNanos), send);
    }

    private List<Action> woken() {
        if (phase == Phase.PAUSED) {
            return send();
        }
        wakePending = true;
        return List.of();
    }

    private List<Action> handedOver(HandedOver event) {
        if (freshOwner) {
            // The store handed the lock to an owner token whose undo is in progress; the undo passes it on.
            return List.of();
        }
        highestBallot = Math.max(highestBallot, event.lastToken());
        return woken();
    }

    /**
     * Begins the lease from a message, if the attempt only waits. A request in flight would be a ballot that could
     * still be repeated after the release of the lease; its answer decides. Nodes of a set hand nothing over.
     */
    private List<Action> claimed(Claim claim, long nowNanos) {
        boolean waits = phase == Phase.PAUSED && remembered && !freshOwner && !unknown && !ofNodes;
        long validityNanos = timings.claimValidityNanos(claim.claimNanos());
        long leftNanos = claim.grant().sentAtNanos() + validityNanos - nowNanos;
        if (!waits || validityNanos == 0 || leftNanos < timings.leastClaimedNanos()) {
            return List.of();
        }
        highestBallot = Math.max(highestBallot, claim.grant().tokens().last());
        phase = Phase.DONE;
        return List.of(new Finish(new Acquired(claim.grant(), highestBallot, claim.claimNanos())));
    }

    private List<Action> timerFired(long nowNanos) {
        if (expired(nowNanos)) {
            // Zero patience means one round trip.
            return phase == Phase.IN_FLIGHT && !returned ? List.of() : gaveUp(atDeadline);
        }
        if (phase == Phase.PAUSED) {
            return send();
        }
        return isTold() || unlimited ? List.of() : List.of(new Arm(deadlineAtNanos));
    }

    private boolean expired(long nowNanos) {
        return !unlimited && (asksOnce || nowNanos - deadlineAtNanos >= 0);
    }

    private List<Action> gaveUp(Outcome outcome) {
        if (isTold()) {
            return List.of();
        }
        if (phase == Phase.IN_FLIGHT) {
            phase = Phase.LEAVING;
            return List.of(new Finish(outcome));
        }
        return ended(outcome);
    }

    /** Nothing is in flight: ends the owner token if the store may remember it, and delivers the outcome. */
    private List<Action> ended(Outcome outcome) {
        phase = Phase.DONE;
        Action finish = new Finish(outcome);
        return remembered ? List.of(new Undo(highestBallot), finish) : List.of(finish);
    }

    private List<Action> replied(Replied event, long nowNanos) {
        AcquireReply reply = event.reply();
        returned = true;
        highestBallot = Math.max(highestBallot, reply.ballot());
        if (!(reply instanceof AcquireReply.Failed)) {
            unknown = false;
            failing = false;
        }
        stood |= reply instanceof AcquireReply.Queued || reply instanceof AcquireReply.Busy;
        remembered |= reply instanceof AcquireReply.Granted
                || reply instanceof AcquireReply.Queued
                || (ofNodes && !asksOnce && reply.ballot() > 0)
                || (reply instanceof AcquireReply.Refused refused && refused.spent() && reply.ballot() > 0);
        if (reply instanceof AcquireReply.Failed failed && failed.kind() == FailureKind.UNKNOWN) {
            remembered = true;
            unknown = true;
        }
        if (phase == Phase.LEAVING) {
            phase = Phase.DONE;
            return remembered ? List.of(new Undo(highestBallot)) : List.of();
        } else if (reply instanceof AcquireReply.Granted granted) {
            return granted(granted.grant(), event.random(), nowNanos);
        } else if (reply instanceof AcquireReply.Refused refused && refused.spent()) {
            return withFreshOwner(error(refused), event.random(), nowNanos);
        }
        return refused(reply, event.random(), nowNanos);
    }

    private List<Action> granted(Grant grant, long random, long nowNanos) {
        long leftNanos = grant.sentAtNanos() + timings.validityNanos() - nowNanos;
        if (leftNanos >= Math.max(1, timings.minimumValidityNanos())) {
            phase = Phase.DONE;
            return List.of(new Finish(new Acquired(grant, highestBallot)));
        }
        String message = what + " was granted too slowly: " + leftNanos / 1_000_000 + " ms of validity were left, "
                + timings.minimumValidityNanos() / 1_000_000 + " ms are needed; it was released";
        return withFreshOwner(new StoreUnavailableException(message, null), random, nowNanos);
    }

    /**
     * Ends an owner token that can no longer be granted anything. The attempt continues with a fresh one, at the end of
     * the queue.
     */
    private List<Action> withFreshOwner(StoreUnavailableException why, long random, long nowNanos) {
        List<Action> actions = new ArrayList<>(2);
        if (remembered) {
            actions.add(new Undo(highestBallot));
        }
        freshOwner = true;
        remembered = false;
        unknown = false;
        highestBallot = 0;
        atDeadline = new Failed(why);
        actions.add(pauseOrFinish(policy.retryNanos(pauses, random), nowNanos));
        return actions;
    }

    private StoreUnavailableException error(AcquireReply.Refused refused) {
        return new StoreUnavailableException(what + " was refused: " + refused.reason(), refused.votes(), null);
    }

    private List<Action> refused(AcquireReply reply, long random, long nowNanos) {
        long pauseNanos;
        if (reply instanceof AcquireReply.Queued queued) {
            atDeadline = new Busy(queued.holder(), queued.votes());
            pauseNanos = policy.queuedNanos(queued.holder(), random);
        } else if (reply instanceof AcquireReply.Busy busy) {
            atDeadline = new Busy(busy.holder(), busy.votes());
            pauseNanos = policy.polledNanos(busy.holder(), pauses, random);
        } else if (reply instanceof AcquireReply.Refused refused) {
            atDeadline = new Failed(error(refused));
            pauseNanos = Math.max(refused.retryNanos(), 1_000_000);
        } else {
            AcquireReply.Failed failed = (AcquireReply.Failed) reply;
            atDeadline = new Failed(verdict(failed));
            if (!failing) {
                failing = true;
                failingSinceAtNanos = nowNanos;
            }
            boolean silent = nowNanos - failingSinceAtNanos >= timings.ttlNanos();
            if (failed.kind() == FailureKind.PERMANENT || silent) {
                return ended(atDeadline);
            }
            pauseNanos = policy.retryNanos(pauses, random);
        }
        if (expired(nowNanos)) {
            return ended(atDeadline);
        }
        if (wakePending && !(reply instanceof AcquireReply.Failed)) {
            return send();
        }
        return List.of(pauseOrFinish(pauseNanos, nowNanos));
    }

    private LockStoreException verdict(AcquireReply.Failed failed) {
        if (!unknown || failed.kind() == FailureKind.PERMANENT) {
            return failed.error();
        }
        return new AmbiguousAcquireException(
                what + ": the outcome of a request is unknown; it is being undone. Last: "
                        + failed.error().getMessage(),
                failed.votes(),
                failed.error());
    }

    private Action pauseOrFinish(long pauseNanos, long nowNanos) {
        if (expired(nowNanos)) {
            phase = Phase.DONE;
            return new Finish(atDeadline);
        }
        pauses++;
        phase = Phase.PAUSED;
        if (!unlimited && deadlineAtNanos - nowNanos < pauseNanos) {
            return new Arm(deadlineAtNanos);
        }
        // Capped, so that times can still be compared by their difference.
        return new Arm(nowNanos + Math.min(pauseNanos, Long.MAX_VALUE / 4));
    }
}
