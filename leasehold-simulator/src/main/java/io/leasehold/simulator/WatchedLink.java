package io.leasehold.simulator;

import io.leasehold.LockName;
import io.leasehold.node.Ballot;
import io.leasehold.node.LockNode;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.node.PassingNode;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * Checks the messages of one client to one node. The ballots of an attempt strictly increase; after its end nothing
 * else is sent. The end is repeated until it is answered, or everything that it could end has ended by itself.
 */
final class WatchedLink extends PassingNode {

    /** The time between two of them, and the tolerance of a timer. */
    private static final long MAX_PAUSE_NANOS = 1_050_000_000L;

    private final VirtualRuntime process;
    private final Standstills standstills;
    private final RunLog log;
    private final Map<OwnerToken, Long> highest = new HashMap<>();
    private final Map<OwnerToken, Set<LockName>> endedNames = new HashMap<>();
    private final Map<OwnerToken, End> ends = new LinkedHashMap<>();

    WatchedLink(LockNode node, VirtualRuntime process, Standstills standstills, RunLog log) {
        super(node);
        this.process = process;
        this.standstills = standstills;
        this.log = log;
    }

    /** The end of an owner token. */
    private final class End {
        private final ReleaseRequest.Kind kind;
        private final long begunAtNanos = process.nanoTime();
        private boolean answered;
        /** The last end got no reply, and none has followed. */
        private boolean failed;

        private long failedAtNanos;
        private int mark;

        End(ReleaseRequest.Kind kind) {
            this.kind = kind;
        }

        boolean isReplacedBy(ReleaseRequest.Kind other) {
            return kind == ReleaseRequest.Kind.SUPERSEDED && other != kind;
        }

        void again() {
            log.counts.saw("end sent again");
            if (failed && standstills.hasRunSince(mark) && process.nanoTime() - failedAtNanos > MAX_PAUSE_NANOS) {
                problem("was sent again only after " + Duration.ofNanos(process.nanoTime() - failedAtNanos));
            }
            failed = false;
        }

        void told(ReleaseReply reply) {
            boolean open = reply instanceof ReleaseReply.Failed no && no.kind() != FailureKind.PERMANENT;
            answered |= !open;
            failed = open;
            failedAtNanos = process.nanoTime();
            mark = standstills.mark();
        }

        void judge() {
            if (failed && !answered && failedAtNanos - begunAtNanos < ClientOptions.TTL.toNanos()) {
                problem("was not answered, and not sent again");
            }
        }

        private void problem(String how) {
            log.problem("repeated: the end (" + kind + ") of an owner token of " + process.name() + " at "
                    + description() + " " + how + ", at " + process.world().elapsed());
        }
    }

    /** Judges the messages at the end of the run. */
    void judge() {
        ends.values().forEach(End::judge);
    }

    @Override
    public CompletableFuture<NodeReply> acquire(Ballot ballot) {
        proposed(ballot);
        return super.acquire(ballot);
    }

    @Override
    public CompletableFuture<NodeReply> acquire(Ballot ballot, Membership membership) {
        proposed(ballot);
        return super.acquire(ballot, membership);
    }

    private void proposed(Ballot ballot) {
        Long before = highest.put(ballot.request().owner(), ballot.tokens().last());
        if (before != null) {
            log.counts.saw("another ballot");
            if (ballot.candidate() <= before) {
                log.problem("ballot " + ballot.candidate() + " follows "
                        + (before == Long.MAX_VALUE ? "the end" : before) + " of one attempt at "
                        + process.world().elapsed());
            }
        }
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        highest.put(request.owner(), Long.MAX_VALUE);
        endedNames.computeIfAbsent(request.owner(), owner -> new HashSet<>()).addAll(request.names());
        End known = ends.get(request.owner());
        if (known == null || known.isReplacedBy(request.kind())) {
            known = new End(request.kind());
            ends.put(request.owner(), known);
        } else {
            known.again();
        }
        End end = known;
        return super.release(request).thenApply(reply -> {
            end.told(reply);
            return reply;
        });
    }

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        for (RenewBatch.Item item : batch.items()) {
            // The parts of an atomic grant share their owner token, and are released one by one.
            if (endedNames.getOrDefault(item.owner(), Set.of()).contains(item.name())) {
                log.problem("a renewal follows the end of its owner token at "
                        + process.world().elapsed());
            }
        }
        return super.renew(batch);
    }
}
