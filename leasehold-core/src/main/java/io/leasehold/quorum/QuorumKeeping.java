package io.leasehold.quorum;

import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.node.Ballot;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewReply;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The renewals and repairs of one owner token at the nodes: performs the actions of its {@link QuorumRenewal}. All code runs
 * in the {@link SerialExecutor} of its session, except {@link #untilAtNanos()}.
 */
final class QuorumKeeping {

    private final NodeSet nodes;
    private final SerialExecutor serial;
    private final List<LockName> names;
    private final QuorumAttempt attempt;
    private OwnerToken owner;
    private QuorumRenewal renewal;
    private @Nullable Pending pending;
    private volatile long untilAtNanos;

    private record Pending(long round, CompletableFuture<RenewReply.Item> reply) {}

    QuorumKeeping(NodeSet nodes, SerialExecutor serial, List<LockName> names, QuorumAttempt attempt, OwnerToken owner) {
        this.nodes = nodes;
        this.serial = serial;
        this.names = names;
        this.attempt = attempt;
        this.owner = owner;
        this.renewal = new QuorumRenewal(nodes.names());
    }

    /** Begins again with an owner token that was never sent. */
    void restart(OwnerToken fresh) {
        owner = fresh;
        renewal = new QuorumRenewal(nodes.names());
    }

    private long now() {
        return nodes.runtime().nanoTime();
    }

    /** The end of the time for which a quorum is known to keep the lock, if it was granted. For all threads. */
    long untilAtNanos() {
        return untilAtNanos;
    }

    /** Notes that a quorum keeps the lock from this moment on. */
    void granted(long sentAtNanos) {
        untilAtNanos = sentAtNanos + attempt.ttlNanos();
        renewal.granted(QuorumSettings.validityNanos(attempt.ttlNanos()));
    }

    /** Notes that a node keeps the key from this moment on. */
    void confirm(int node, long sentAtNanos) {
        renewal.confirm(node, sentAtNanos);
    }

    /** Processes a node's report that its key was removed; returns whether no quorum keeps the lock. */
    boolean taken(int node) {
        return renewal.taken(node, now());
    }

    /** Ends the owner token: nothing is renewed or repaired from now on. */
    void end() {
        renewal.end();
    }

    /** Notes that the renewal with this number is about to be sent to all nodes. */
    void renewing(long round, CompletableFuture<RenewReply.Item> reply) {
        if (pending != null) {
            String message = "another renewal of " + names + " began before this one was answered";
            pending.reply().complete(new RenewReply.Failed(new StoreUnavailableException(message, null)));
        }
        pending = new Pending(round, reply);
        renewal.begin(round);
    }

    /** Processes a node's answer to a renewal. */
    void renewed(long round, int node, RenewReply.Item item) {
        perform(renewal.answered(node, round, item, now()));
    }

    /** Processes the end of the time limit for answers to a renewal. */
    void late(long round) {
        perform(renewal.late(round, now()));
        Pending waiting = pending;
        if (waiting != null && waiting.round() == round) {
            // The owner token was ended meanwhile, so no verdict will come.
            waiting.reply().complete(new RenewReply.NotOurs());
        }
    }

    private void perform(List<QuorumRenewal.Action> actions) {
        for (QuorumRenewal.Action action : actions) {
            if (action instanceof QuorumRenewal.Repair repair) {
                repair(repair.node());
            } else if (action instanceof QuorumRenewal.Finish finish && pending != null) {
                CompletableFuture<RenewReply.Item> reply = pending.reply();
                pending = null;
                if (finish.verdict() == QuorumRenewal.Verdict.KEPT) {
                    untilAtNanos = renewal.keptFromNanos() + attempt.ttlNanos();
                }
                reply.complete(renewal.reply(finish.verdict(), names));
            }
        }
    }

    private void repair(int node) {
        long sentAtNanos = now();
        long estimateMicros = nodes.estimateMicros().orElse(0);
        QuorumRenewal repaired = renewal;
        Ballot ballot = attempt.repair(node, owner, estimateMicros);
        // Noted only if the set does not withhold it, and before it is sent: the end must stop every ballot that was
        // sent.
        NodeSet.Proposal proposal = (target, sent, membership) -> {
            attempt.proposed(sent.candidate());
            return target.acquire(sent, membership);
        };
        nodes.propose(node, proposal, ballot, estimateMicros, attempt.floor(node))
                .thenAccept(reply -> serial.run(() -> {
                    attempt.answered(node, reply, nodes.estimateMicros().orElse(0));
                    perform(repaired.repaired(node, sentAtNanos, reply, now()));
                }));
    }
}
