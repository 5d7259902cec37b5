package io.leasehold.quorum;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.StoreUnavailableException;
import io.leasehold.node.Ballot;
import io.leasehold.node.LockNode;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * One owner token of the engine at the nodes. It performs the actions of its {@link QuorumAttempt} and {@link QuorumRound},
 * and its {@link QuorumKeeping} those of the renewal.
 *
 * <p>At the nodes a waiting attempt has a separate owner token, and a new one after each undo, since an ended token
 * must not be used again. Even an attempt that was swept here and asks again is a new one at the nodes. All code runs
 * in its {@link SerialExecutor}; fields that other threads read are volatile.
 */
final class QuorumSession {

    private static final long MIN_SILENCE_NANOS = 60_000_000_000L;

    private final Shared shared;
    private final NodeSet nodes;
    private final ContentionBackoff backoff;
    private final OwnerToken engineOwner;
    private final List<LockName> names;
    private final SerialExecutor serial = new SerialExecutor();
    private final QuorumAttempt attempt;
    private final QuorumKeeping keeping;
    /** The writer whose place the owner token takes; null for an attempt. */
    private final @Nullable QuorumSession writer;

    private volatile OwnerToken nodeOwner;
    private QuorumRound round;
    private boolean ended;
    private @Nullable CompletableFuture<AcquireReply> asked;
    private LockRuntime.@Nullable Timer patience;

    // The state for isAbandoned().
    private volatile long silenceNanos = MIN_SILENCE_NANOS;
    private volatile long touchedAtNanos;
    private volatile boolean idle = true;
    private final OwnerEnds ends;
    private volatile boolean held;

    /**
     * The context that all sessions of a store share.
     *
     * @param sessions the sessions by the owner tokens of their requests and grants
     * @param lost notified when so many nodes have reported the removal of a grant that no quorum keeps it
     */
    record Shared(
            NodeSet nodes,
            NodeReleases releases,
            NodeExports exports,
            ContentionBackoff backoff,
            Map<OwnerToken, QuorumSession> sessions,
            BiConsumer<OwnerToken, LossCause> lost) {}

    /**
     * Creates a session before its first request.
     *
     * @param engineOwner the owner token of the engine's requests
     * @param nodeOwner the owner token at the nodes
     */
    QuorumSession(Shared shared, List<LockName> names, OwnerToken engineOwner, OwnerToken nodeOwner) {
        this(shared, names, engineOwner, nodeOwner, null);
    }

    /** Creates the session of a reader that takes the place of a writer. */
    static QuorumSession ofDowngrade(Shared shared, LockName name, OwnerToken reader, QuorumSession writer) {
        return new QuorumSession(shared, List.of(name), reader, reader, writer);
    }

    private QuorumSession(
            Shared shared,
            List<LockName> names,
            OwnerToken engineOwner,
            OwnerToken nodeOwner,
            @Nullable QuorumSession writer) {
        this.shared = shared;
        this.writer = writer;
        this.nodes = shared.nodes();
        this.backoff = shared.backoff();
        this.names = names;
        this.engineOwner = engineOwner;
        this.nodeOwner = nodeOwner;
        this.attempt = new QuorumAttempt(names, nodes.size(), nodes.configuration(), nodes.settings());
        this.round = newRound();
        this.keeping = new QuorumKeeping(nodes, serial, names, attempt, nodeOwner);
        this.ends = new OwnerEnds(nodes.runtime(), serial, this::forget);
        // Other threads see the session before its first request; it must not count as abandoned in between.
        this.touchedAtNanos = nodes.runtime().nanoTime();
    }

    private QuorumRound newRound() {
        QuorumSettings settings = nodes.settings();
        return new QuorumRound(
                writer == null ? QuorumRound.Purpose.ACQUIRE : QuorumRound.Purpose.DOWNGRADE,
                nodes.names(),
                settings.boundMicros(),
                settings.quarantineNanos() / 1_000_000);
    }

    private long now() {
        return nodes.runtime().nanoTime();
    }

    /** Whether the caller has not asked again within the time that it announced. */
    boolean isAbandoned(long nowNanos) {
        boolean expired = !held || nowNanos - keeping.untilAtNanos() > silenceNanos;
        return idle && expired && nowNanos - touchedAtNanos > silenceNanos;
    }

    /** Whether it is of this kind of lock: an owner token of a writer is none of a reader, nor the reverse. */
    boolean isOf(LockName name) {
        return names.get(0).isRead() == name.isRead();
    }

    /** Removes the session, which is over or abandoned. */
    void forget() {
        backoff.done(engineOwner);
        shared.sessions().remove(engineOwner, this);
        shared.sessions().remove(nodeOwner, this);
    }

    // ---- acquiring

    /** Answers within the time limit of the request, counted from the call of the store. */
    CompletableFuture<AcquireReply> acquire(AcquireRequest wanted, long askedAtNanos) {
        CompletableFuture<AcquireReply> reply = new CompletableFuture<>();
        touchedAtNanos = now();
        idle = false;
        serial.run(() -> orFail(reply, () -> begin(wanted, askedAtNanos, reply)));
        return reply;
    }

    /** Runs a later step of the current request. */
    private void step(Runnable step) {
        serial.run(() -> orFail(asked, step));
    }

    /** Runs a step; a failure becomes the answer, since the engine waits for one. */
    private void orFail(@Nullable CompletableFuture<AcquireReply> reply, Runnable step) {
        try {
            step.run();
        } catch (RuntimeException | Error e) {
            if (reply != null) {
                AcquireReply failure =
                        failure(FailureKind.UNKNOWN, "acquiring " + names + " failed unexpectedly: " + e, e);
                if (asked == reply) {
                    answer(failure);
                } else {
                    reply.complete(failure);
                }
            }
            throw e;
        }
    }

    private AcquireReply failure(FailureKind kind, String message, @Nullable Throwable cause) {
        return new AcquireReply.Failed(kind, new StoreUnavailableException(message, cause), round.highest());
    }

    private void begin(AcquireRequest wanted, long askedAtNanos, CompletableFuture<AcquireReply> reply) {
        if (ended || asked != null) {
            String why = ended ? "after its owner token was ended" : "while another was under way";
            reply.complete(failure(FailureKind.NO_EFFECT, "an acquire of " + names + " came " + why, null));
            return;
        }
        Optional<AcquireReply> refusal = attempt.refusal(wanted);
        if (refusal.isPresent()) {
            idle = true;
            if (!attempt.isAsked()) {
                // Nothing was sent, so no release will follow.
                forget();
            }
            reply.complete(refusal.get());
            return;
        }
        asked = reply;
        silenceNanos = Math.max(MIN_SILENCE_NANOS, 3 * wanted.recheckNanos());
        attempt.asked(wanted, askedAtNanos, now());
        if (nodes.estimateMicros().isPresent()) {
            start(List.of());
        } else {
            nodes.sample(attempt.nodeTimeoutNanos(now())).thenAccept(clocks -> step(() -> start(clocks)));
        }
    }

    private void start(List<NodeReply> clocks) {
        if (asked == null) {
            // The request was abandoned and answered meanwhile.
            return;
        }
        OptionalLong estimate = nodes.estimateMicros();
        if (round.isEnded() && writer == null && estimate.isPresent()) {
            nodeOwner = OwnerToken.draw(nodes.runtime());
            round = newRound();
            keeping.restart(nodeOwner);
        }
        follow(attempt.begin(round, estimate, clocks));
    }

    private void follow(QuorumAttempt.Next next) {
        if (next instanceof QuorumAttempt.Begin begin) {
            OptionalLong silentAfter = attempt.silentAfterNanos();
            BitSet silent = silentAfter.isPresent() ? nodes.silent(silentAfter.getAsLong()) : new BitSet();
            perform(round.start(begin.candidate(), begin.reserve(), silent));
        } else if (next instanceof QuorumAttempt.AskAgain again) {
            schedule(again.pauseNanos(), () -> start(List.of()));
        } else if (next instanceof QuorumAttempt.Answer last) {
            if (last.delays() == QuorumAttempt.Delays.OVER) {
                backoff.done(engineOwner);
            }
            answer(last.reply());
            if (last.delays() == QuorumAttempt.Delays.LONGER) {
                backoff.later(engineOwner, names.get(0), attempt.spentNanos(now()));
            }
        }
    }

    private void perform(List<QuorumRound.Action> actions) {
        for (QuorumRound.Action action : actions) {
            if (action instanceof QuorumRound.Propose propose) {
                propose(propose.candidate());
            } else if (action instanceof QuorumRound.Undo) {
                undo();
            } else if (action instanceof QuorumRound.Limit limit) {
                limit(limit);
            } else if (action instanceof QuorumRound.Confirm confirm) {
                keeping.confirm(confirm.node(), confirm.sentAtNanos());
            } else if (action instanceof QuorumRound.Finish finish) {
                finish(finish.verdict());
            }
        }
    }

    private void undo() {
        if (writer != null) {
            keeping.end();
            held = false;
            endWriter();
        }
        end(attempt.undo(), round.highest()).over().thenRun(() -> serial.run(this::forgetIfNothingIsLeft));
    }

    private void finish(RoundVerdict verdict) {
        if (verdict instanceof RoundVerdict.Won won) {
            won(won);
        }
        follow(
                writer == null
                        ? attempt.after(verdict, round, nodeOwner, now())
                        : attempt.afterDowngrade(verdict, round, nodeOwner, now()));
    }

    private void won(RoundVerdict.Won won) {
        held = true;
        keeping.granted(won.sentAtNanos());
        backoff.measured(attempt.spentNanos(now()));
        shared.sessions().put(nodeOwner, this);
        endWriter();
    }

    /** Ends the writer at every node, also where the reader has not taken its place; the waiters are woken. */
    private void endWriter() {
        if (writer != null) {
            writer.endDowngraded();
        }
    }

    private void propose(long candidate) {
        long estimateMicros = nodes.estimateMicros().orElse(0);
        Ballot ballot = attempt.ballot(nodeOwner, candidate);
        long sentAtNanos = now();
        QuorumRound asking = round;
        schedule(attempt.nodeTimeoutNanos(sentAtNanos), () -> perform(asking.late(candidate)));
        for (int node = 0; node < nodes.size(); node++) {
            int voter = node;
            nodes.propose(node, proposal(), ballot, Math.min(estimateMicros, candidate), attempt.floor(node))
                    .thenAccept(reply -> step(() -> voted(asking, voter, candidate, sentAtNanos, reply)));
        }
    }

    private NodeSet.Proposal proposal() {
        if (writer == null) {
            return LockNode::acquire;
        }
        OwnerToken former = writer.nodeOwner;
        return (target, ballot, membership) -> target.downgrade(ballot, former, membership);
    }

    private void limit(QuorumRound.Limit limit) {
        QuorumRound asking = round;
        attempt.limitNanos(limit.sentAtNanos(), limit.tookNanos())
                .ifPresent(nanos -> schedule(Math.max(0, limit.sentAtNanos() + nanos - now()), () -> {
                    attempt.limitReached();
                    perform(asking.late(limit.candidate()));
                }));
    }

    private void voted(QuorumRound asking, int node, long candidate, long sentAtNanos, NodeReply reply) {
        long estimateMicros = nodes.estimateMicros().orElse(0);
        attempt.answered(node, reply, estimateMicros);
        // A round whose owner token was abandoned has no further actions.
        perform(asking.voted(new QuorumRound.Vote(node, candidate, sentAtNanos, now(), reply, estimateMicros)));
        forgetIfNothingIsLeft();
    }

    private void answer(AcquireReply reply) {
        cancelPatience();
        CompletableFuture<AcquireReply> waiting = asked;
        asked = null;
        idle = true;
        touchedAtNanos = now();
        forgetIfNothingIsLeft();
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

    /** Removes an attempt that does not wait and holds nothing at any node, since no request follows. */
    private void forgetIfNothingIsLeft() {
        boolean waits = attempt.isWaiting() && !ended;
        boolean nothingLeft =
                round.isForgotten() || (round.isEnded() && !shared.releases().isUnderWay(nodeOwner));
        if (asked == null && !waits && nothingLeft) {
            forget();
        }
    }

    // ---- renewing

    /** Notes that the renewal with this number is about to be sent to all nodes. */
    void renewing(long renewalRound, CompletableFuture<RenewReply.Item> reply) {
        serial.run(() -> keeping.renewing(renewalRound, reply));
    }

    /** Processes a node's answer to a renewal. */
    void renewed(long renewalRound, int node, RenewReply.Item item) {
        serial.run(() -> keeping.renewed(renewalRound, node, item));
    }

    /** Processes the end of the time limit for answers to a renewal. */
    void renewalLate(long renewalRound) {
        serial.run(() -> keeping.late(renewalRound));
    }

    /** Processes a node's report that its key was removed. */
    void takenAt(int node, OwnerToken owner, LossCause cause) {
        serial.run(() -> {
            // Reports about an earlier owner token are ignored.
            if (owner.equals(nodeOwner) && keeping.taken(node)) {
                shared.lost().accept(nodeOwner, cause);
            }
        });
    }

    RenewBatch.Item renewalItem(RenewBatch.Item item) {
        return new RenewBatch.Item(item.name(), nodeOwner, item.ttlNanos());
    }

    // ---- exporting and resuming

    /** Notes that an exported lease was resumed with this grant: from now on the lock is renewed and repaired. */
    void resumed(AcquireRequest wanted, Grant grant) {
        serial.run(() -> {
            attempt.asked(wanted, grant.sentAtNanos(), now());
            attempt.proposed(grant.tokens().last());
            held = true;
            keeping.granted(grant.sentAtNanos());
        });
    }

    /** Ends the owner token, and puts a ticket in its place at all nodes. */
    CompletableFuture<ExportReply> export(ExportRequest wanted) {
        CompletableFuture<ExportReply> reply = new CompletableFuture<>();
        serial.run(() -> {
            try {
                stop();
                NodeExport export = shared.exports()
                        .begin(
                                new ExportRequest(
                                        wanted.name(),
                                        nodeOwner,
                                        Math.max(wanted.ballot(), attempt.highest(round)),
                                        wanted.ticket(),
                                        wanted.token(),
                                        wanted.holderId(),
                                        wanted.claimNanos(),
                                        wanted.timeoutNanos()),
                                attempt.ttlNanos());
                export.reply(wanted.timeoutNanos()).thenAccept(reply::complete);
                ends.follow(export.over(), export::isGivenUpAtANode, attempt.ttlNanos());
            } catch (RuntimeException | Error e) {
                String message = "the export of " + wanted.name() + " failed unexpectedly: " + e;
                reply.complete(new ExportReply.Failed(FailureKind.UNKNOWN, new StoreUnavailableException(message, e)));
                throw e;
            }
        });
        return reply;
    }

    /** Notes that a reader takes the place of this holder: from now on nothing is renewed or repaired. */
    void downgrades() {
        serial.run(this::stop);
    }

    private void endDowngraded() {
        serial.run(() ->
                end(ReleaseRequest.Kind.RELEASE, attempt.highest(round)).over().thenRun(this::forget));
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
        stop();
        shared.exports().stop(nodeOwner);
        NodeRelease release = end(wanted.kind(), Math.max(wanted.ballot(), attempt.highest(round)));
        release.reply(wanted.timeoutNanos()).thenAccept(reply::complete);
        ends.follow(release.over(), release::isGivenUpAtANode, attempt.ttlNanos());
    }

    private void stop() {
        boolean first = !ended;
        ended = true;
        held = false;
        backoff.done(engineOwner);
        if (first) {
            round.end();
            keeping.end();
            if (asked != null) {
                answer(failure(FailureKind.NO_EFFECT, names + " was given up", null));
            }
        }
    }

    private NodeRelease end(ReleaseRequest.Kind kind, long ballot) {
        return shared.releases().end(names, nodeOwner, ballot, kind, attempt.ttlNanos());
    }
}
