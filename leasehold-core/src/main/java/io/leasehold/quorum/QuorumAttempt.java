package io.leasehold.quorum;

import io.leasehold.LockName;
import io.leasehold.NodeVote;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.TokenRange;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The decisions of one attempt: the first ballot of a request, the time limit for nodes, and the answer after the
 * verdict of a round. Pure.
 *
 * <p>A waiter gets the answer "queued" once enough nodes will wake it that one of them may fail. Until then it retries
 * after 5, 10, 20 … ms, since the subscriptions at the nodes may have only just started. After split votes, only its
 * own client wakes it.
 */
final class QuorumAttempt {

    /** The shortest time for which a round waits for a node, since a short pause of a server is not a failure. */
    private static final long MIN_LIMIT_NANOS = 5_000_000L;

    private static final long FIRST_PLACE_NANOS = 5_000_000L;
    private static final int MAX_PLACE_TRIES = 6;
    private static final int MAX_CUTS = 10;
    private static final Incarnation SET = new Incarnation("quorum");

    /** The next step. */
    sealed interface Next {}

    /** Begin a round with this ballot. */
    record Begin(long candidate, int reserve) implements Next {}

    /** Ask the nodes again after a pause. */
    record AskAgain(long pauseNanos) implements Next {}

    /** Answer the request. */
    record Answer(AcquireReply reply, Delays delays) implements Next {}

    /** The effect of an answer on the attempt's delays after split votes. */
    enum Delays {
        /** The delays stay. */
        KEPT,
        /** The delays start over with the next split. */
        OVER,
        /** The votes were split: the client wakes the attempt after the next delay. */
        LONGER
    }

    private final List<LockName> names;
    private final int nodes;
    private final String configuration;
    private final QuorumSettings settings;
    /** The highest believed floor that each node has reported. */
    private final long[] floors;

    private @Nullable AcquireRequest request;
    private long startedAtNanos;
    private long answerByNanos;
    private int placeTries;
    /** The number of rounds that a limit has ended since the last answer of another kind. */
    private int cutShort;

    /** The highest ballot of all rounds, and of the repairs that were sent. */
    private long highest;

    /** The first ballot, which is the place of a waiter at every node; zero before it. */
    private long place;

    /** Creates an attempt before its first request. */
    QuorumAttempt(List<LockName> names, int nodes, String configuration, QuorumSettings settings) {
        this.names = names;
        this.nodes = nodes;
        this.configuration = configuration;
        this.settings = settings;
        this.floors = new long[nodes];
    }

    /** Returns the refusal of a request whose ttl the set cannot keep, or empty. */
    Optional<AcquireReply> refusal(AcquireRequest wanted) {
        return NodeSetCheck.unfit(wanted.ttlNanos(), wanted.nodeTimeoutNanos(), settings)
                .map(unfit -> new AcquireReply.Failed(
                        FailureKind.PERMANENT, new UnsafeStoreException(names + ": " + unfit, null), 0));
    }

    /**
     * Starts a request.
     *
     * @param askedAtNanos the start of its time limit, which is earlier if the request has waited for woken clients
     */
    void asked(AcquireRequest wanted, long askedAtNanos, long nowNanos) {
        request = wanted;
        startedAtNanos = nowNanos;
        answerByNanos = askedAtNanos + wanted.timeoutNanos();
        placeTries = 0;
    }

    private AcquireRequest request() {
        if (request == null) {
            throw new IllegalStateException("nothing was requested");
        }
        return request;
    }

    /** Whether a request has begun. */
    boolean isAsked() {
        return request != null;
    }

    /** Whether the last request was a waiter's. */
    boolean isWaiting() {
        return request != null && request.isWaiting();
    }

    /** The public id of the future holder. */
    String holderId() {
        return request().holderId();
    }

    /** The time limit of the last request. */
    long requestTimeoutNanos() {
        return request().timeoutNanos();
    }

    /** The ttl at the nodes, or the largest possible one. */
    long ttlNanos() {
        return request == null ? settings.maxTtl().toNanos() : request.ttlNanos();
    }

    /** The time since the last request began. */
    long spentNanos(long nowNanos) {
        return nowNanos - startedAtNanos;
    }

    /**
     * The time for which a ballot waits for each node. An attempt without patience has only this round, so the ballot
     * gets the time limit of the answer, unless the lock has its own node timeout. The time is never longer than the
     * rest of that time limit.
     */
    long nodeTimeoutNanos(long nowNanos) {
        AcquireRequest wanted = request();
        long leftNanos = Math.max(1, answerByNanos - nowNanos);
        boolean asksOnce = wanted.nodeTimeoutNanos() == 0 && !wanted.isPatient();
        return asksOnce
                ? leftNanos
                : Math.min(leftNanos, settings.nodeTimeoutNanos(wanted.ttlNanos(), wanted.nodeTimeoutNanos()));
    }

    /**
     * The time after which the attempt does not wait for a node that owes an answer. Empty if it waits for each node,
     * since an attempt without patience asks only once.
     */
    OptionalLong silentAfterNanos() {
        AcquireRequest wanted = request();
        return wanted.isPatient()
                ? OptionalLong.of(settings.nodeTimeoutNanos(wanted.ttlNanos(), wanted.nodeTimeoutNanos()))
                : OptionalLong.empty();
    }

    /**
     * The time limit, counted from the sending, of the remaining nodes of a contended ballot after a majority has
     * answered: four times the time of the majority. After every two rounds that end at this limit, the limit doubles,
     * so that distant nodes can answer if they are needed. Empty if the node timeout applies.
     */
    OptionalLong limitNanos(long sentAtNanos, long tookNanos) {
        long limitNanos = Math.max(MIN_LIMIT_NANOS, 4 * tookNanos) << Math.min(cutShort / 2, MAX_CUTS);
        boolean isSooner = limitNanos < nodeTimeoutNanos(sentAtNanos);
        return isWaiting() && isSooner ? OptionalLong.of(limitNanos) : OptionalLong.empty();
    }

    /** Notes that a limit has passed. */
    void limitReached() {
        cutShort++;
    }

    /**
     * Starts a round.
     *
     * @param clocks the nodes' answers to a sample of their clocks, if one was taken
     */
    Next begin(QuorumRound round, OptionalLong estimateMicros, List<NodeReply> clocks) {
        AcquireRequest wanted = request();
        if (estimateMicros.isEmpty()) {
            return withoutClock(clocks, round.highest());
        }
        long proposed = Math.max(round.highest(), wanted.ballotSoFar());
        if (wanted.isWaiting() && isSpent(proposed, estimateMicros.getAsLong())) {
            String reason = "the clocks of the nodes went back: the attempt has proposed fencing token " + proposed
                    + ", and they are at " + estimateMicros.getAsLong();
            return new Answer(new AcquireReply.Refused(reason, 0, round.highest(), List.of(), true), Delays.OVER);
        }
        long candidate = Math.max(proposed + 1, Math.max(wanted.seenToken() + 1, estimateMicros.getAsLong()));
        if (candidate >= TokenRange.LIMIT - wanted.reserve()) {
            String message = "fencing token " + candidate + " would reach 2^53; the nodes' clocks are absurd";
            return new Answer(
                    new AcquireReply.Failed(FailureKind.PERMANENT, new StoreUnavailableException(message, null), 0),
                    Delays.KEPT);
        }
        return new Begin(candidate, wanted.reserve());
    }

    /**
     * Whether the next ballot of this owner token would be withheld from every node: see {@link NodeSet#propose}. No
     * trusted clock is further ahead of the median than half the bound. If a token that this client has seen is as far
     * ahead, another owner token would not help: the attempt must stay above it.
     */
    private boolean isSpent(long proposed, long estimateMicros) {
        long half = settings.boundMicros() / 2;
        long most = Math.max(estimateMicros + half, Arrays.stream(floors).max().orElse(0)) + half;
        return proposed >= most && request().seenToken() < most;
    }

    private Next withoutClock(List<NodeReply> clocks, long ballot) {
        List<NodeReply.Failed> failures = clocks.stream()
                .filter(NodeReply.Failed.class::isInstance)
                .map(NodeReply.Failed.class::cast)
                .toList();
        long permanent = failures.stream()
                .filter(failed -> failed.kind() == FailureKind.PERMANENT)
                .count();
        List<NodeVote> votes =
                failures.stream().map(failed -> Votes.of("a node", failed)).toList();
        return noQuorum(permanent > nodes - quorum(), votes, ballot);
    }

    private int quorum() {
        return Quorum.majority(nodes);
    }

    /** The ballot of a round. */
    Ballot ballot(OwnerToken owner, long candidate) {
        AcquireRequest wanted = request();
        AcquireRequest sent = atNodes(owner).reserve(wanted.reserve()).seenToken(wanted.seenToken());
        place = place == 0 ? candidate : place;
        return wanted.isWaiting()
                ? new Ballot(sent.waiting(wanted.recheckNanos()), candidate, wanted.reserve(), 0, place)
                : new Ballot(sent, candidate, wanted.reserve());
    }

    /** The ballot that repairs a node without the key. {@link #proposed} must note it before it is sent. */
    Ballot repair(int node, OwnerToken owner, long estimateMicros) {
        long candidate = Math.max(Math.max(highest, floors[node]) + 1, estimateMicros);
        return new Ballot(atNodes(owner), candidate, 1, 0, Ballot.HOLDERS);
    }

    private AcquireRequest atNodes(OwnerToken owner) {
        AcquireRequest wanted = request();
        return AcquireRequest.exclusive(
                wanted.names(), owner, wanted.holderId(), wanted.ttlNanos(), wanted.timeoutNanos());
    }

    /**
     * Notes a ballot of the owner token that no round of this attempt has proposed: each repair is above it, and its end
     * stops it.
     */
    void proposed(long ballot) {
        highest = Math.max(highest, ballot);
    }

    /**
     * Processes a node's answer to a ballot. A floor that the round does not believe is not remembered: a repair above
     * it would raise the fences of all nodes at the end.
     *
     * @param estimateMicros the clock of the set, or zero if it is unknown
     */
    void answered(int node, NodeReply reply, long estimateMicros) {
        if (reply instanceof NodeReply.Stale stale
                && VoteTally.isBelieved(stale.floor(), estimateMicros, settings.boundMicros())) {
            floors[node] = Math.max(floors[node], stale.floor());
        }
    }

    /** The highest believed floor that a node has reported. */
    long floor(int node) {
        return floors[node];
    }

    /** The ballot of a release or undo; afterwards the nodes may grant only above it. */
    long highest(QuorumRound round) {
        return Math.max(highest, round.highest());
    }

    /** The kind of release that ends the rest of a lost round: a waiter keeps its place. */
    ReleaseRequest.Kind undo() {
        return isWaiting() ? ReleaseRequest.Kind.SUPERSEDED : ReleaseRequest.Kind.UNDO;
    }

    /** Decides the next step after a round. */
    Next after(RoundVerdict verdict, QuorumRound round, OwnerToken owner, long nowNanos) {
        highest = highest(round);
        boolean needsNoOther = verdict instanceof RoundVerdict.Won
                || (verdict instanceof RoundVerdict.Contended contended && contended.holds());
        cutShort = needsNoOther ? 0 : cutShort;
        List<NodeVote> votes = round.votes();
        if (verdict instanceof RoundVerdict.Won won) {
            Grant grant = new Grant(owner, won.tokens(), won.sentAtNanos(), SET);
            return new Answer(new AcquireReply.Granted(grant, votes), Delays.OVER);
        } else if (verdict instanceof RoundVerdict.Contended contended) {
            return contended(contended, round, votes, nowNanos);
        } else if (verdict instanceof RoundVerdict.Refused refused) {
            String reason = "no quorum of " + quorum() + " of " + nodes + " nodes may grant now: " + refused.reason();
            return new Answer(
                    new AcquireReply.Refused(reason, refused.retryNanos(), round.highest(), votes), Delays.KEPT);
        }
        return noQuorum(((RoundVerdict.NoQuorum) verdict).permanent(), votes, round.highest());
    }

    /**
     * The same after a round of a downgrade. It proves a loss only if so many nodes knew neither owner token that no quorum had
     * the lock; if some keep it and too many have not answered, the caller may ask again.
     */
    Next afterDowngrade(RoundVerdict verdict, QuorumRound round, OwnerToken owner, long nowNanos) {
        Next next = after(verdict, round, owner, nowNanos);
        if (!(verdict instanceof RoundVerdict.Contended contended) || contended.holds()) {
            return next;
        }
        List<NodeVote> votes = round.votes();
        String message = "the downgrade of " + names + " was not confirmed by " + quorum() + " of " + nodes + " nodes; "
                + Votes.line(votes);
        return new Answer(
                new AcquireReply.Failed(
                        FailureKind.UNKNOWN, new StoreUnavailableException(message, votes, null), round.highest()),
                Delays.KEPT);
    }

    private Next contended(RoundVerdict.Contended verdict, QuorumRound round, List<NodeVote> votes, long nowNanos) {
        boolean told = verdict.queued() > nodes - quorum();
        AcquireReply busy = new AcquireReply.Busy(verdict.holder(), round.highest(), votes);
        AcquireReply queued = new AcquireReply.Queued(verdict.holder(), round.highest(), votes);
        if (!request().isWaiting()) {
            return new Answer(busy, Delays.KEPT);
        } else if (!verdict.holds()) {
            return new Answer(queued, Delays.LONGER);
        } else if (told || !mayRetryForPlace(round, nowNanos)) {
            return new Answer(told ? queued : busy, Delays.OVER);
        }
        return new AskAgain(FIRST_PLACE_NANOS << placeTries++);
    }

    private boolean mayRetryForPlace(QuorumRound round, long nowNanos) {
        return placeTries < MAX_PLACE_TRIES
                && !round.isEnded()
                && spentNanos(nowNanos) + (FIRST_PLACE_NANOS << placeTries)
                        < request().timeoutNanos() / 2;
    }

    private Next noQuorum(boolean permanent, List<NodeVote> votes, long ballot) {
        String message =
                "no quorum for " + names + ": " + quorum() + " of " + nodes + " nodes are needed; " + Votes.line(votes);
        return new Answer(
                permanent
                        ? new AcquireReply.Failed(
                                FailureKind.PERMANENT,
                                new UnsafeStoreException(
                                        message + "; this client is configured for " + configuration, votes, null),
                                ballot)
                        : new AcquireReply.Failed(
                                FailureKind.NO_EFFECT, new StoreUnavailableException(message, votes, null), ballot),
                Delays.KEPT);
    }
}
