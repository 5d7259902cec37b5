// Long because all that one owner token has at the nodes, from its first ballot to its end, changes under one guard.
package io.leasehold.quorum;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.NodeVote;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Ballot;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.NodeReply;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One owner token of the engine at the nodes: carries out what its {@link QuorumRound} and {@link QuorumRenewal} decide.
 *
 * <p>At the nodes an attempt that waits has an owner token of its own, and after an undo another, since nothing may be sent with
 * one that was ended: so even one that was forgotten here, and asks again, is a new one there.
 * Everything happens in its {@link SerialExecutor}; fields that others read are volatile.
 */
final class QuorumSession {

    /** Pauses before the nodes are asked again for a place among those they wake: 5, 10, 20 … ms. */
    private static final long FIRST_PLACE_NANOS = 5_000_000L;

    private static final int MAX_PLACE_TRIES = 6;

    private static final Incarnation SET = new Incarnation("quorum");

    private final NodeSet nodes;
    private final NodeReleases endings;
    private final ContentionBackoff retries;
    private final OwnerToken engineOwner;
    private final List<LockName> names;
    private final SerialExecutor serial = new SerialExecutor();
    private final Holders holders;

    private volatile OwnerToken nodeOwner;
    private volatile long toldTtlNanos;
    private QuorumRound round;
    private QuorumRenewal renewal;
    private long highest;
    private long[] floors;
    private boolean ended;
    private int placeTries;

    private @Nullable AcquireRequest request;
    private @Nullable CompletableFuture<AcquireReply> asked;
    private LockRuntime.@Nullable Timer patience;
    private long startedAtNanos;
    private long answerByNanos;
    private volatile long touchedAtNanos;
    private volatile boolean idle = true;
    private volatile boolean held;
    /** The end of what a quorum is known to keep, while it is held. */
    private volatile long keptUntilAtNanos;

    /**
     * Nothing was sent yet.
     *
     * @param engineOwner by which the engine asks for it
     * @param nodeOwner by which the nodes know it, or will
     * @param holders told of the owner token it is granted under, and when nothing of it is left anywhere
     */
    QuorumSession(
            NodeSet nodes,
            NodeReleases endings,
            ContentionBackoff retries,
            List<LockName> names,
            OwnerToken engineOwner,
            OwnerToken nodeOwner,
            Holders holders) {
        this.nodes = nodes;
        this.endings = endings;
        this.retries = retries;
        this.names = names;
        this.engineOwner = engineOwner;
        this.nodeOwner = nodeOwner;
        this.holders = holders;
        this.round = newRound(nodes);
        this.renewal = new QuorumRenewal(nodes.names());
        this.floors = new long[nodes.size()];
        // Known to others before its first request: it is not deserted in between.
        this.touchedAtNanos = nodes.runtime().nanoTime();
    }

    /** Who finds tenures by their owner tokens. */
    interface Holders {
        /** The grant's owner token may be another than the request's: it is what proves the hold to the nodes. */
        void granted(QuorumSession tenure, OwnerToken owner);

        void forgotten(QuorumSession tenure, OwnerToken asked, OwnerToken granted);

        /** So many nodes have told that it was taken away that no quorum keeps it. */
        void taken(OwnerToken granted, LossCause cause);
    }

    /** Nothing of it is left, or its caller has deserted it. */
    void forget() {
        retries.done(engineOwner);
        holders.forgotten(this, engineOwner, nodeOwner);
    }

    private static QuorumRound newRound(NodeSet nodes) {
        QuorumSettings settings = nodes.settings();
        return new QuorumRound(nodes.names(), settings.boundMicros(), settings.quarantineNanos() / 1_000_000);
    }

    /** Whether it has been left alone for longer than its caller said it would. */
    boolean isDeserted(long nowNanos) {
        AcquireRequest last = request;
        long silenceNanos = Math.max(60_000_000_000L, last == null ? 0 : 3 * last.recheckNanos());
        boolean expired = !held || nowNanos - keptUntilAtNanos > silenceNanos;
        return idle && expired && nowNanos - touchedAtNanos > silenceNanos;
    }

    // ---- acquiring

    /** Answers within the time that the request names, counted from when the store was asked. */
    CompletableFuture<AcquireReply> acquire(AcquireRequest wanted, long askedAtNanos) {
        CompletableFuture<AcquireReply> reply = new CompletableFuture<>();
        touchedAtNanos = nodes.runtime().nanoTime();
        idle = false;
        serial.run(() -> {
            try {
                begin(wanted, askedAtNanos, reply);
            } catch (RuntimeException | Error e) {
                failed(reply, e);
                throw e;
            }
        });
        return reply;
    }

    private void orFail(Runnable step) {
        try {
            step.run();
        } catch (RuntimeException | Error e) {
            CompletableFuture<AcquireReply> waiting = asked;
            if (waiting != null) {
                failed(waiting, e);
            }
            throw e;
        }
    }

    /** The engine waits for an answer before it does anything else about this lock. */
    private void failed(CompletableFuture<AcquireReply> reply, Throwable error) {
        AcquireReply failure = new AcquireReply.Failed(
                FailureKind.UNKNOWN,
                new StoreUnavailableException("acquiring " + names + " failed unexpectedly: " + error, error),
                round.highest());
        if (asked == reply) {
            answer(failure);
        } else {
            reply.complete(failure);
        }
    }

    private void begin(AcquireRequest wanted, long askedAtNanos, CompletableFuture<AcquireReply> reply) {
        if (ended || asked != null) {
            reply.complete(new AcquireReply.Failed(
                    FailureKind.NO_EFFECT,
                    new StoreUnavailableException(
                            "an acquire of " + names + " came "
                                    + (ended ? "after its owner token was ended" : "while another was under way"),
                            null),
                    round.highest()));
            return;
        }
        Optional<NodeSetCheck.UnfitTtl> unfit =
                NodeSetCheck.unfit(wanted.ttlNanos(), wanted.nodeTimeoutNanos(), nodes.settings());
        if (unfit.isPresent()) {
            idle = true;
            if (request == null) {
                // Nothing was ever sent: nobody will end it.
                forget();
            }
            reply.complete(new AcquireReply.Failed(
                    FailureKind.PERMANENT, new UnsafeStoreException(names + ": " + unfit.get().text(), null), 0));
            return;
        }
        request = wanted;
        asked = reply;
        startedAtNanos = nodes.runtime().nanoTime();
        answerByNanos = askedAtNanos + wanted.timeoutNanos();
        toldTtlNanos = wanted.ttlNanos();
        placeTries = 0;
        OptionalLong estimate = nodes.estimateMicros();
        if (estimate.isPresent()) {
            start(wanted, estimate.getAsLong());
        } else {
            nodes.sample(nodeTimeoutNanos(wanted))
                    .thenAccept(sampled -> serial.run(() -> orFail(() -> startSampled(wanted, sampled))));
        }
    }

    private void startSampled(AcquireRequest wanted, List<NodeReply> sampled) {
        OptionalLong estimate = nodes.estimateMicros();
        if (asked == null) {
            // Given up meanwhile, and told so.
            return;
        }
        if (estimate.isPresent()) {
            start(wanted, estimate.getAsLong());
        } else {
            boolean permanent = sampled.stream()
                            .filter(reply ->
                                    reply instanceof NodeReply.Failed failed && failed.kind() == FailureKind.PERMANENT)
                            .count()
                    > nodes.size() - nodes.quorum();
            answer(noQuorum(permanent, List.of(), sampled));
        }
    }

    private void start(AcquireRequest wanted, long estimateMicros) {
        if (round.isEnded()) {
            nodeOwner = OwnerToken.draw(nodes.runtime());
            round = newRound(nodes);
            renewal = new QuorumRenewal(nodes.names());
        }
        long candidate = Math.max(
                Math.max(round.highest(), wanted.ballotSoFar()) + 1, Math.max(wanted.seenToken() + 1, estimateMicros));
        if (candidate >= TokenRange.LIMIT - wanted.reserve()) {
            answer(new AcquireReply.Failed(
                    FailureKind.PERMANENT,
                    new StoreUnavailableException(
                            "fencing token " + candidate + " would reach 2^53; the nodes' clocks are absurd", null),
                    0));
            return;
        }
        perform(round.on(new QuorumRound.Started(candidate, wanted.reserve())));
    }

    /**
     * How long this ballot waits for each node. An attempt without patience has this one round: it gets the time that an
     * answer may take, unless the lock has a node timeout of its own. Never longer than what is left of that time: others
     * went first, and the clocks of the nodes may have been read.
     */
    private long nodeTimeoutNanos(AcquireRequest wanted) {
        long leftNanos = Math.max(1, answerByNanos - nodes.runtime().nanoTime());
        if (wanted.nodeTimeoutNanos() == 0 && !wanted.isWaiting()) {
            return leftNanos;
        }
        long nanos = nodes.settings().nodeTimeoutNanos(wanted.ttlNanos(), wanted.nodeTimeoutNanos());
        return Math.min(leftNanos, nanos);
    }

    private void perform(List<QuorumRound.Action> actions) {
        for (QuorumRound.Action action : actions) {
            if (action instanceof QuorumRound.Propose propose) {
                propose(propose.candidate());
            } else if (action instanceof QuorumRound.Undo) {
                ReleaseRequest.Kind kind = request != null && request.isWaiting()
                        ? ReleaseRequest.Kind.SUPERSEDED
                        : ReleaseRequest.Kind.UNDO;
                end(kind, round.highest()).onOver(() -> serial.run(this::lookWhetherForgotten));
            } else if (action instanceof QuorumRound.Confirm confirm) {
                renewal.on(new QuorumRenewal.Confirmed(confirm.node(), confirm.sentAtNanos()));
            } else if (action instanceof QuorumRound.Finish finish) {
                finish(finish.verdict());
            }
        }
    }

    private void propose(long candidate) {
        AcquireRequest wanted = java.util.Objects.requireNonNull(request);
        OptionalLong now = nodes.estimateMicros();
        long estimateMicros = now.orElse(0);
        AcquireRequest sent = atNodes(wanted, wanted.reserve());
        Ballot ballot = new Ballot(sent, candidate, wanted.reserve());
        long sentAtNanos = nodes.runtime().nanoTime();
        QuorumRound asking = round;
        cancelPatience();
        patience = nodes.runtime()
                .schedule(
                        nodeTimeoutNanos(wanted),
                        () -> serial.run(() -> orFail(() -> perform(asking.on(new QuorumRound.Late(candidate))))));
        for (int node = 0; node < nodes.size(); node++) {
            int voter = node;
            nodes.propose(node, ballot, Math.min(estimateMicros, candidate), floors[node])
                    .thenAccept(reply ->
                            serial.run(() -> orFail(() -> voted(asking, voter, candidate, sentAtNanos, reply))));
        }
    }

    private AcquireRequest atNodes(AcquireRequest wanted, int reserve) {
        AcquireRequest sent = AcquireRequest.exclusive(
                        wanted.names(), nodeOwner, wanted.holderId(), wanted.ttlNanos(), wanted.timeoutNanos())
                .reserve(reserve)
                .seenToken(wanted.seenToken());
        return wanted.isWaiting() ? sent.waiting(wanted.recheckNanos()) : sent;
    }

    private void voted(QuorumRound asking, int node, long candidate, long sentAtNanos, NodeReply reply) {
        if (reply instanceof NodeReply.Stale stale) {
            floors[node] = Math.max(floors[node], stale.floor());
        }
        // A round whose owner token was given up asks for nothing any more.
        perform(asking.on(new QuorumRound.Voted(
                node, candidate, sentAtNanos, reply, nodes.estimateMicros().orElse(0))));
        lookWhetherForgotten();
    }

    private void finish(RoundVerdict verdict) {
        AcquireRequest wanted = java.util.Objects.requireNonNull(request);
        List<NodeVote> votes = round.votes();
        long ballot = round.highest();
        highest = Math.max(highest, ballot);
        if (verdict instanceof RoundVerdict.Won won) {
            held = true;
            keptUntilAtNanos = won.sentAtNanos() + wanted.ttlNanos();
            retries.measured(nodes.runtime().nanoTime() - startedAtNanos);
            retries.done(engineOwner);
            holders.granted(this, nodeOwner);
            answer(new AcquireReply.Granted(new Grant(nodeOwner, won.tokens(), won.sentAtNanos(), SET), votes));
        } else if (verdict instanceof RoundVerdict.Contended contended) {
            contended(wanted, contended, ballot, votes);
        } else if (verdict instanceof RoundVerdict.Refused refused) {
            answer(new AcquireReply.Refused(
                    "no quorum of " + nodes.quorum() + " of " + nodes.size() + " nodes may grant now: "
                            + refused.reason(),
                    refused.retryNanos(),
                    ballot,
                    votes));
        } else {
            answer(noQuorum(((RoundVerdict.NoQuorum) verdict).permanent(), votes, List.of()));
        }
    }

    private void contended(AcquireRequest wanted, RoundVerdict.Contended contended, long ballot, List<NodeVote> votes) {
        boolean told = contended.queued() > nodes.size() - nodes.quorum();
        if (!wanted.isWaiting()) {
            answer(new AcquireReply.Busy(contended.holder(), ballot, votes));
        } else if (contended.holds() && !told && mayAskForAPlace(wanted)) {
            // The nodes cannot wake us yet: their subscriptions have only begun.
            long pauseNanos = FIRST_PLACE_NANOS << placeTries++;
            cancelPatience();
            patience = nodes.runtime()
                    .schedule(pauseNanos, () -> serial.run(() -> orFail(() -> startSampled(wanted, List.of()))));
        } else if (contended.holds()) {
            retries.done(engineOwner);
            answer(
                    told
                            ? new AcquireReply.Queued(contended.holder(), ballot, votes)
                            : new AcquireReply.Busy(contended.holder(), ballot, votes));
        } else {
            // Votes were split: nobody will wake us, so we do, after a time drawn by lot.
            answer(new AcquireReply.Queued(contended.holder(), ballot, votes));
            retries.later(engineOwner, names.get(0), nodes.runtime().nanoTime() - startedAtNanos);
        }
    }

    private boolean mayAskForAPlace(AcquireRequest wanted) {
        long spentNanos = nodes.runtime().nanoTime() - startedAtNanos;
        return placeTries < MAX_PLACE_TRIES
                && !round.isEnded()
                && spentNanos + (FIRST_PLACE_NANOS << placeTries) < wanted.timeoutNanos() / 2;
    }

    private AcquireReply noQuorum(boolean permanent, List<NodeVote> votes, List<NodeReply> sampled) {
        List<NodeVote> told = votes;
        if (votes.isEmpty()) {
            told = sampled.stream()
                    .filter(NodeReply.Failed.class::isInstance)
                    .map(reply -> Votes.of("a node", reply))
                    .toList();
        }
        String message = "no quorum for " + names + ": " + nodes.quorum() + " of " + nodes.size()
                + " nodes are needed; " + Votes.line(told);
        if (permanent) {
            message += "; this client is configured for " + nodes.configuration();
        }
        return new AcquireReply.Failed(
                permanent ? FailureKind.PERMANENT : FailureKind.NO_EFFECT,
                permanent
                        ? new UnsafeStoreException(message, told, null)
                        : new StoreUnavailableException(message, told, null),
                round.highest());
    }

    private void answer(AcquireReply reply) {
        cancelPatience();
        CompletableFuture<AcquireReply> waiting = asked;
        asked = null;
        idle = true;
        touchedAtNanos = nodes.runtime().nanoTime();
        lookWhetherForgotten();
        if (waiting != null) {
            waiting.complete(reply);
        }
    }

    private void cancelPatience() {
        if (patience != null) {
            patience.cancel();
            patience = null;
        }
    }

    /** Who does not wait and has nothing left at any node is not heard of again. */
    private void lookWhetherForgotten() {
        boolean waits = request != null && request.isWaiting() && !ended;
        boolean nothingLeft = round.isForgotten() || (round.isEnded() && !endings.isUnderWay(nodeOwner));
        if (asked == null && !waits && nothingLeft) {
            forget();
        }
    }

    // ---- keeping

    /** Which renewals of a batch this is. */
    void renewing(long renewalRound, CompletableFuture<RenewReply.Item> reply) {
        serial.run(() -> {
            if (renewals != null) {
                renewals.reply()
                        .complete(new RenewReply.Failed(new StoreUnavailableException(
                                "another renewal of " + names + " began before this one was answered", null)));
            }
            renewals = new Renewals(renewalRound, reply);
            keep(renewal.on(new QuorumRenewal.Began(renewalRound)));
        });
    }

    private @Nullable Renewals renewals;

    private record Renewals(long round, CompletableFuture<RenewReply.Item> reply) {}

    /** A node tells that somebody took the key away from it. */
    void takenAt(int node, OwnerToken owner, LossCause cause) {
        serial.run(() -> {
            if (!owner.equals(nodeOwner)) {
                // It was given up before this one.
                return;
            }
            boolean told = renewal
                    .on(new QuorumRenewal.Taken(node, nodes.runtime().nanoTime()))
                    .stream()
                    .anyMatch(QuorumRenewal.TellTaken.class::isInstance);
            if (told) {
                holders.taken(nodeOwner, cause);
            }
        });
    }

    /** A node has answered a renewal. */
    void renewed(long renewalRound, int node, RenewReply.Item item) {
        serial.run(() -> keep(renewal.on(new QuorumRenewal.Answered(node, renewalRound, item))));
    }

    /** The time for answers to a renewal is over. */
    void renewalLate(long renewalRound) {
        serial.run(() -> {
            keep(renewal.on(new QuorumRenewal.Late(renewalRound)));
            Renewals waiting = renewals;
            if (waiting != null && waiting.round() == renewalRound) {
                // Ended meanwhile: nobody decides any more.
                waiting.reply().complete(new RenewReply.NotOurs());
            }
        });
    }

    private void keep(List<QuorumRenewal.Action> actions) {
        for (QuorumRenewal.Action action : actions) {
            if (action instanceof QuorumRenewal.Repair repair) {
                repair(repair.node(), 0);
            } else if (action instanceof QuorumRenewal.Finish finish && renewals != null) {
                CompletableFuture<RenewReply.Item> reply = renewals.reply();
                renewals = null;
                if (finish.verdict() == QuorumRenewal.Verdict.KEPT) {
                    keptUntilAtNanos = renewal.keptFromNanos() + toldTtlNanos;
                }
                reply.complete(
                        switch (finish.verdict()) {
                            case KEPT -> new RenewReply.Renewed(renewal.keptFromNanos());
                            case LOST -> new RenewReply.NotOurs(renewal.votes());
                            case UNKNOWN ->
                                new RenewReply.Failed(new StoreUnavailableException(
                                        "renewal of " + names + " found no quorum of " + nodes.quorum() + " of "
                                                + nodes.size() + " nodes; " + Votes.line(renewal.votes()),
                                        renewal.votes(),
                                        null));
                        });
            }
        }
    }

    /** A lost lock is never re-created: only while a quorum keeps it, well inside its validity. */
    private void repair(int node, int tries) {
        AcquireRequest granted = request;
        OptionalLong estimate = nodes.estimateMicros();
        if (granted == null || estimate.isEmpty() || !renewal.isHeld()) {
            return;
        }
        long nowNanos = nodes.runtime().nanoTime();
        long leftNanos = renewal.keptFromNanos() + QuorumSettings.validityNanos(granted.ttlNanos()) - nowNanos;
        if (leftNanos <= 0 || tries > 2) {
            keep(renewal.on(new QuorumRenewal.Repaired(node, nowNanos, new NodeReply.Stale(0, SET, 0))));
            return;
        }
        long candidate = Math.max(Math.max(highest, floors[node]) + 1, estimate.getAsLong());
        highest = candidate;
        AcquireRequest sent = AcquireRequest.exclusive(
                granted.names(), nodeOwner, granted.holderId(), granted.ttlNanos(), granted.timeoutNanos());
        nodes.propose(node, new Ballot(sent, candidate, 1), estimate.getAsLong(), floors[node])
                .thenAccept(reply -> serial.run(() -> {
                    if (reply instanceof NodeReply.Stale stale) {
                        floors[node] = Math.max(floors[node], stale.floor());
                        repair(node, tries + 1);
                    } else {
                        keep(renewal.on(new QuorumRenewal.Repaired(node, nowNanos, reply)));
                    }
                }));
    }

    // ---- ending

    CompletableFuture<ReleaseReply> release(ReleaseRequest wanted) {
        CompletableFuture<ReleaseReply> reply = new CompletableFuture<>();
        serial.run(() -> {
            try {
                end(wanted, reply);
            } catch (RuntimeException | Error e) {
                reply.complete(new ReleaseReply.Failed(
                        FailureKind.UNKNOWN,
                        new StoreUnavailableException("the release of " + names + " failed unexpectedly: " + e, e)));
                throw e;
            }
        });
        return reply;
    }

    private void end(ReleaseRequest wanted, CompletableFuture<ReleaseReply> reply) {
        boolean first = !ended;
        ended = true;
        held = false;
        retries.done(engineOwner);
        if (first) {
            perform(round.on(new QuorumRound.Ended()));
            keep(renewal.on(new QuorumRenewal.Ended()));
            if (asked != null) {
                answer(new AcquireReply.Failed(
                        FailureKind.NO_EFFECT,
                        new StoreUnavailableException(names + " was given up", null),
                        round.highest()));
            }
        }
        NodeRelease ending = end(wanted.kind(), Math.max(Math.max(wanted.ballot(), highest), round.highest()));
        ending.reply(wanted.timeoutNanos()).thenAccept(reply::complete);
        ending.onOver(this::forget);
    }

    private NodeRelease end(ReleaseRequest.Kind kind, long ballot) {
        long ttlNanos =
                toldTtlNanos > 0 ? toldTtlNanos : nodes.settings().maxTtl().toNanos();
        return endings.end(names, nodeOwner, ballot, kind, ttlNanos);
    }

    RenewBatch.Item renewalItem(RenewBatch.Item item) {
        return new RenewBatch.Item(item.name(), nodeOwner, item.ttlNanos());
    }
}
