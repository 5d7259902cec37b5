package io.leasehold.quorum;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.node.Ballot;
import io.leasehold.node.LockNode;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One claimant's votes on a ticket, from its first request on: performs the actions of a {@link QuorumRound} of swaps.
 *
 * <p>The same owner token asks again and again, since its votes stay. If other claimants have votes and none can win, it
 * returns its own to the ticket, and continues with a fresh owner token. A vote does not move the end of the claim. Only
 * after a quorum has voted, another round of the same owner token begins the ttl: its votes are the lease. All code runs in
 * its {@link SerialExecutor}; fields that other threads read are volatile.
 */
final class QuorumResume {

    private static final long FIRST_SPREAD_NANOS = 20_000_000L;
    private static final int MAX_SPREADS = 5;
    private static final long RETRY_NANOS = 10_000_000L;

    private final NodeSet nodes;
    private final NodeExports exports;
    private final LockName name;
    private final OwnerToken ticket;
    private final SerialExecutor serial = new SerialExecutor();
    private final QuorumAttempt attempt;

    private OwnerToken owner;
    private QuorumRound round;
    private LockNode.Resume step = LockNode.Resume.VOTE;
    private int splits;
    /** The ballots of the owner tokens whose votes were returned. */
    private long firstBallot = Long.MAX_VALUE;

    private long lastReturned;
    private @Nullable CompletableFuture<AcquireReply> asked;
    private LockRuntime.@Nullable Timer patience;
    private volatile long touchedAtNanos;
    private volatile boolean idle = true;

    /**
     * Creates the votes of a claimant before its first request.
     *
     * @param exports put the ticket in the place of a vote that is returned
     * @param owner the owner token of the engine's requests, with which the first votes are cast
     */
    QuorumResume(NodeSet nodes, NodeExports exports, LockName name, OwnerToken owner, OwnerToken ticket) {
        this.nodes = nodes;
        this.exports = exports;
        this.name = name;
        this.ticket = ticket;
        this.owner = owner;
        this.attempt = new QuorumAttempt(List.of(name), nodes.size(), nodes.configuration(), nodes.settings());
        this.round = newRound(nodes);
        this.touchedAtNanos = nodes.runtime().nanoTime();
    }

    private static QuorumRound newRound(NodeSet nodes) {
        QuorumSettings settings = nodes.settings();
        return new QuorumRound(
                QuorumRound.Purpose.RESUME,
                nodes.names(),
                settings.boundMicros(),
                settings.quarantineNanos() / 1_000_000);
    }

    private long now() {
        return nodes.runtime().nanoTime();
    }

    /** Whether every vote has expired at the nodes: no claim is longer than the largest ttl. */
    boolean isForgotten(long nowNanos) {
        return idle && nowNanos - touchedAtNanos > 2 * nodes.settings().quarantineNanos();
    }

    /** Answers within the time limit of the request. */
    CompletableFuture<AcquireReply> ask(AcquireRequest wanted) {
        CompletableFuture<AcquireReply> reply = new CompletableFuture<>();
        long askedAtNanos = now();
        touchedAtNanos = askedAtNanos;
        idle = false;
        serial.run(() -> orFail(reply, () -> begin(wanted, askedAtNanos, reply)));
        return reply;
    }

    private void begin(AcquireRequest wanted, long askedAtNanos, CompletableFuture<AcquireReply> reply) {
        if (asked != null) {
            reply.complete(failure("a resume of " + name + " came while another was under way", null));
            return;
        }
        Optional<AcquireReply> refusal = attempt.refusal(wanted);
        if (refusal.isPresent()) {
            idle = true;
            reply.complete(refusal.get());
            return;
        }
        asked = reply;
        step = LockNode.Resume.VOTE;
        attempt.asked(wanted, askedAtNanos, now());
        if (nodes.estimateMicros().isPresent()) {
            start(List.of());
        } else {
            nodes.sample(attempt.nodeTimeoutNanos(now())).thenAccept(clocks -> step(() -> start(clocks)));
        }
    }

    private void start(List<NodeReply> clocks) {
        OptionalLong estimate = nodes.estimateMicros();
        if (round.isEnded() && estimate.isPresent()) {
            owner = OwnerToken.draw(nodes.runtime());
            round = newRound(nodes);
        }
        QuorumAttempt.Next next = attempt.begin(round, estimate, clocks);
        if (next instanceof QuorumAttempt.Begin begin) {
            firstBallot = Math.min(firstBallot, begin.candidate());
            perform(round.start(begin.candidate(), begin.reserve(), new BitSet()));
        } else if (next instanceof QuorumAttempt.Answer last) {
            answer(last.reply());
        }
    }

    private void perform(List<QuorumRound.Action> actions) {
        for (QuorumRound.Action action : actions) {
            if (action instanceof QuorumRound.Propose propose) {
                propose(propose.candidate());
            } else if (action instanceof QuorumRound.Limit limit) {
                limit(limit);
            } else if (action instanceof QuorumRound.ReturnVotes) {
                returnVotes();
            } else if (action instanceof QuorumRound.Finish finish) {
                finish(finish.verdict());
            }
        }
    }

    private void finish(RoundVerdict verdict) {
        if (verdict instanceof RoundVerdict.Won && step == LockNode.Resume.VOTE) {
            step = LockNode.Resume.HOLD;
            start(List.of());
        } else {
            answer(reply(verdict));
        }
    }

    private AcquireReply reply(RoundVerdict verdict) {
        boolean isSplit = verdict instanceof RoundVerdict.Contended contended && !contended.holds();
        if (isSplit) {
            long spreadNanos = FIRST_SPREAD_NANOS << Math.min(splits++, MAX_SPREADS);
            return new AcquireReply.Refused(
                    "the nodes' votes are split between claimants of the ticket",
                    1 + nodes.runtime().randomBelow(spreadNanos),
                    round.highest(),
                    round.votes());
        }
        splits = verdict instanceof RoundVerdict.Won ? 0 : splits;
        AcquireReply reply = ((QuorumAttempt.Answer) attempt.after(verdict, round, owner, now())).reply();
        boolean mayHaveVotes = !round.isEnded() && round.mayHaveVotes();
        if (reply instanceof AcquireReply.Refused refused) {
            return new AcquireReply.Refused(
                    refused.reason(), refused.retryNanos(), refused.ballot(), refused.votes(), mayHaveVotes);
        } else if (reply instanceof AcquireReply.Failed failed
                && failed.kind() == FailureKind.NO_EFFECT
                && mayHaveVotes) {
            return new AcquireReply.Failed(FailureKind.UNKNOWN, failed.error(), failed.ballot());
        }
        return reply;
    }

    private void propose(long candidate) {
        long estimateMicros = nodes.estimateMicros().orElse(0);
        Ballot ballot = attempt.ballot(owner, candidate);
        long sentAtNanos = now();
        QuorumRound asking = round;
        LockNode.Resume proposedStep = step;
        schedule(attempt.nodeTimeoutNanos(sentAtNanos), () -> perform(asking.late(candidate)));
        for (int node = 0; node < nodes.size(); node++) {
            int voter = node;
            nodes.propose(
                            node,
                            (target, proposed, membership) -> target.resume(proposed, ticket, proposedStep, membership),
                            ballot,
                            Math.min(estimateMicros, candidate),
                            attempt.floor(node))
                    .thenAccept(reply -> step(() -> voted(asking, voter, candidate, sentAtNanos, reply)));
        }
    }

    /** A lost round need not wait as long as a round that may be won. */
    private void limit(QuorumRound.Limit limit) {
        QuorumRound asking = round;
        long nodeTimeoutNanos = nodes.settings().nodeTimeoutNanos(attempt.ttlNanos());
        long untilNanos = limit.sentAtNanos() + Math.max(nodeTimeoutNanos, 4 * limit.tookNanos());
        if (untilNanos - now() < attempt.nodeTimeoutNanos(now())) {
            schedule(Math.max(0, untilNanos - now()), () -> perform(asking.late(limit.candidate())));
        }
    }

    private void voted(QuorumRound asking, int node, long candidate, long sentAtNanos, NodeReply reply) {
        long estimateMicros = nodes.estimateMicros().orElse(0);
        attempt.answered(node, reply, estimateMicros);
        perform(asking.voted(
                new QuorumRound.Vote(node, candidate, sentAtNanos, now(), counted(reply), estimateMicros)));
    }

    /** A vote that this claimant has returned, but not yet at this node, says nothing of other claimants. */
    private NodeReply counted(NodeReply reply) {
        if (!(reply instanceof NodeReply.Held held) || held.holder() == null || !isReturned(held.holder())) {
            return reply;
        }
        return new NodeReply.Refused(
                "an earlier vote of this client is being returned",
                RETRY_NANOS,
                held.incarnation(),
                held.serverMicros());
    }

    private boolean isReturned(Holder holder) {
        OptionalLong token = holder.fencingToken();
        return holder.id().equals(attempt.holderId())
                && token.isPresent()
                && token.getAsLong() >= firstBallot
                && token.getAsLong() <= lastReturned;
    }

    private void returnVotes() {
        long ballot = round.highest();
        lastReturned = ballot;
        String label = Holder.ticketOf(attempt.holderId());
        long claimNanos = nodes.settings().maxTtl().toNanos();
        exports.begin(
                new ExportRequest(name, owner, ballot, ticket, ballot, label, 0, attempt.requestTimeoutNanos()),
                claimNanos);
    }

    private void answer(AcquireReply reply) {
        cancelPatience();
        CompletableFuture<AcquireReply> waiting = asked;
        asked = null;
        idle = true;
        touchedAtNanos = now();
        if (waiting != null) {
            waiting.complete(reply);
        }
    }

    private void schedule(long delayNanos, Runnable step) {
        cancelPatience();
        patience = nodes.runtime().schedule(delayNanos, () -> step(step));
    }

    private void cancelPatience() {
        if (patience != null) {
            patience.cancel();
            patience = null;
        }
    }

    private void step(Runnable step) {
        serial.run(() -> orFail(asked, step));
    }

    /** Runs a step; a failure becomes the answer, since the engine waits for one. */
    private void orFail(@Nullable CompletableFuture<AcquireReply> reply, Runnable step) {
        try {
            step.run();
        } catch (RuntimeException | Error e) {
            if (reply != null) {
                AcquireReply failure = failure("resuming " + name + " failed unexpectedly: " + e, e);
                if (asked == reply) {
                    answer(failure);
                } else {
                    reply.complete(failure);
                }
            }
            throw e;
        }
    }

    private AcquireReply failure(String message, @Nullable Throwable cause) {
        return new AcquireReply.Failed(
                FailureKind.UNKNOWN, new StoreUnavailableException(message, cause), round.highest());
    }
}
