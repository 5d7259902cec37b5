package io.leasehold.quorum;

import io.leasehold.StoreUnavailableException;
import io.leasehold.node.Ballot;
import io.leasehold.node.Birth;
import io.leasehold.node.LockNode;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The nodes of a set and their recorded state: sends ballots, records every answer, and withholds the ballots that a
 * node must not receive. Safe for all threads; the monitors of the clocks and of the births guard them.
 */
final class NodeSet {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");
    private static final Incarnation NOT_ASKED = new Incarnation("not asked");

    private final LockRuntime runtime;
    private final QuorumSettings settings;
    private final List<QuorumMember> members;
    private final List<NodeLink> links;
    private final List<String> names;
    private final String configuration;
    private final NodeClocks clocks;
    private final BirthMarkers births;
    private final NodeStatuses statuses;

    NodeSet(List<QuorumMember> members, QuorumSettings settings, LockRuntime runtime) {
        this.runtime = runtime;
        this.settings = settings;
        this.members = members;
        this.names = members.stream().map(QuorumMember::name).toList();
        this.links = members.stream()
                .map(member -> new NodeLink(member.node(), member.name()))
                .toList();
        this.configuration = configuration(members, settings);
        this.clocks = new NodeClocks(names, settings.exclusionNanos(), settings.boundMicros());
        this.births = new BirthMarkers(members.size());
        this.statuses = new NodeStatuses(names, settings.quarantineNanos() / 1_000_000);
    }

    private static String configuration(List<QuorumMember> members, QuorumSettings settings) {
        List<String> nodes = members.stream()
                .map(member ->
                        member.name() + (member.persistence() == Membership.Persistence.DURABLE ? " (durable)" : ""))
                .sorted()
                .toList();
        return members.size() + " nodes " + nodes + ", maxTtl "
                + settings.maxTtl().toMillis() + " ms";
    }

    int size() {
        return members.size();
    }

    int quorum() {
        return Quorum.majority(members.size());
    }

    List<String> names() {
        return names;
    }

    NodeLink link(int node) {
        return links.get(node);
    }

    LockRuntime runtime() {
        return runtime;
    }

    QuorumSettings settings() {
        return settings;
    }

    /**
     * The nodes from which a round need not expect an answer, since they have owed one for longer than a round waits.
     * The set is empty if the other nodes are not a quorum, since then this client or its network may have paused.
     */
    BitSet silent(long timeoutNanos) {
        long nowNanos = runtime.nanoTime();
        BitSet silent = new BitSet(size());
        for (int node = 0; node < size(); node++) {
            silent.set(node, links.get(node).silentNanos(nowNanos) > timeoutNanos);
        }
        if (size() - silent.cardinality() < quorum()) {
            silent.clear();
        }
        return silent;
    }

    /** The configuration of the set, which must be the same for all its clients. */
    String configuration() {
        return configuration;
    }

    /** The standing of each node. */
    NodeStatuses statuses() {
        return statuses;
    }

    /** The clock of the set, or empty before a quorum has answered. */
    OptionalLong estimateMicros() {
        synchronized (clocks) {
            return clocks.estimateMicros(runtime.nanoTime());
        }
    }

    /** The reason why a node's votes do not count now, or null. */
    @Nullable
    Distrust distrust(int node) {
        synchronized (clocks) {
            return clocks.distrust(node, runtime.nanoTime());
        }
    }

    /** The request by which a node receives a ballot; made on the caller's thread, and only if the ballot is sent. */
    interface Proposal {
        CompletableFuture<NodeReply> send(LockNode node, Ballot ballot, Membership membership);
    }

    /**
     * Proposes a ballot to one node, if the node may receive it.
     *
     * @param estimateMicros the clock of the set from which the candidate was derived
     * @param floor the highest believed floor that this node has reported
     */
    CompletableFuture<NodeReply> propose(int node, Proposal proposal, Ballot ballot, long estimateMicros, long floor) {
        long nowNanos = runtime.nanoTime();
        Distrust why;
        long retryNanos;
        OptionalLong clock;
        synchronized (clocks) {
            why = clocks.distrust(node, nowNanos);
            retryNanos = Math.max(10_000_000L, clocks.excludedNanos(node, nowNanos));
            clock = clocks.nodeEstimateMicros(node, nowNanos);
        }
        if (why != null) {
            // Read its clock again, so that the node can regain trust.
            probe(node, ballot.request().timeoutNanos());
            return refused(why.text(), retryNanos);
        }
        long last = ballot.tokens().last();
        // The node clamps an undo, so an undo could not stop a ballot that is further ahead.
        if (clock.isPresent() && last > Math.max(clock.getAsLong(), floor) + settings.boundMicros() / 2) {
            probe(node, ballot.request().timeoutNanos());
            return refused("fencing token " + last + " is too far ahead of its clock", 10_000_000L);
        }
        Membership membership = new Membership(
                configuration,
                estimateMicros,
                settings.quarantineNanos() / 1_000,
                settings.boundMicros(),
                members.get(node).persistence());
        return ask(node, true, target -> proposal.send(target, ballot, membership))
                .thenApply(reply -> {
                    boolean asks;
                    synchronized (births) {
                        asks = births.answered(node, reply);
                    }
                    if (asks) {
                        askForBirths();
                    }
                    return reply instanceof NodeReply.Yes ? believed(node, reply) : reply;
                });
    }

    private void askForBirths() {
        long timeoutNanos = 10 * settings.nodeTimeoutNanos(settings.maxTtl().toNanos());
        try {
            sample(timeoutNanos).thenAccept(replies -> {
                List<BirthMarkers.BirthToSend> told;
                boolean again;
                synchronized (births) {
                    told = births.sampled(replies);
                    again = births.sampleAgain();
                }
                told.forEach(one -> tell(one, timeoutNanos));
                if (again) {
                    askForBirths();
                }
            });
        } catch (RuntimeException | Error e) {
            // No timer could be started; the vote counts anyway.
            LOG.error("cannot send nodes their birth", e);
            synchronized (births) {
                births.failed();
            }
        }
    }

    private void tell(BirthMarkers.BirthToSend told, long timeoutNanos) {
        Birth birth = new Birth(told.nonce(), told.bornMicros(), configuration, timeoutNanos);
        links.get(told.node())
                .ask(target -> target.birth(birth), NodeReply.Failed::new)
                .thenAccept(reply -> LOG.debug("sent {} its birth: {}", names.get(told.node()), reply));
    }

    private static CompletableFuture<NodeReply> refused(String why, long retryNanos) {
        return CompletableFuture.completedFuture(new NodeReply.Refused(why, retryNanos, NOT_ASKED, 0));
    }

    /** Ignores a yes whose clock reading shows that the node cannot be trusted; the grant may remain at the node. */
    private NodeReply believed(int node, NodeReply yes) {
        Distrust why = distrust(node);
        return why == null
                ? yes
                : new NodeReply.Failed(
                        FailureKind.UNKNOWN, new StoreUnavailableException(names.get(node) + " " + why.text(), null));
    }

    /**
     * Renews at one node, after a check of its clock: a node whose clock is not trusted keeps a lock for a different
     * time than it reports.
     */
    CompletableFuture<RenewReply> renew(int node, RenewBatch batch) {
        probe(node, batch.timeoutNanos());
        return links.get(node)
                .ask(target -> target.renew(batch), (kind, error) -> RenewReply.failed(batch, error))
                .thenApply(reply -> {
                    Distrust why = distrust(node);
                    return why == null ? reply : allButNotOursFailed(reply, names.get(node) + " " + why.text());
                });
    }

    private static RenewReply allButNotOursFailed(RenewReply reply, String why) {
        return new RenewReply(reply.items().stream()
                .map(item -> item instanceof RenewReply.Renewed
                        ? new RenewReply.Failed(new StoreUnavailableException(why, null))
                        : item)
                .toList());
    }

    /** Exports at one node, after a check of its clock: see {@link #renew}. */
    CompletableFuture<ExportReply> export(int node, ExportRequest request) {
        probe(node, request.timeoutNanos());
        return links.get(node)
                .ask(target -> target.export(request), ExportReply.Failed::new)
                .thenApply(reply -> {
                    Distrust why = distrust(node);
                    return why == null || !(reply instanceof ExportReply.Exported)
                            ? reply
                            : new ExportReply.Failed(
                                    FailureKind.UNKNOWN,
                                    new StoreUnavailableException(names.get(node) + " " + why.text(), null));
                });
    }

    /** Reads a node's incarnation and clock. */
    CompletableFuture<NodeReply> probe(int node, long timeoutNanos) {
        return ask(node, false, target -> target.probe(timeoutNanos));
    }

    private CompletableFuture<NodeReply> ask(
            int node, boolean ballot, Function<LockNode, CompletableFuture<NodeReply>> request) {
        long sentAtNanos = runtime.nanoTime();
        NodeLink link = links.get(node);
        link.asks(sentAtNanos);
        return link.ask(request, NodeReply.Failed::new).thenApply(reply -> {
            long nowNanos = runtime.nanoTime();
            if (!(reply instanceof NodeReply.Failed failed && failed.kind() == FailureKind.UNKNOWN)) {
                link.heard();
            }
            @Nullable Distrust[] distrusted = new Distrust[size()];
            synchronized (clocks) {
                if (reply instanceof NodeReply.Answered answered) {
                    clocks.answered(node, answered.incarnation(), answered.serverMicros(), sentAtNanos, nowNanos);
                }
                Arrays.setAll(distrusted, one -> clocks.distrust(one, nowNanos));
            }
            statuses.heard(node, reply, ballot, distrusted);
            return reply;
        });
    }

    /** Queries all nodes; completes when all have answered. */
    <T> CompletableFuture<List<T>> all(IntFunction<CompletableFuture<T>> question) {
        return all(IntStream.range(0, size()).mapToObj(question).toList());
    }

    /** The results of all futures, in their order. */
    static <T> CompletableFuture<List<T>> all(List<CompletableFuture<T>> each) {
        return CompletableFuture.allOf(each.toArray(CompletableFuture<?>[]::new))
                .thenApply(done -> each.stream().map(CompletableFuture::join).toList());
    }

    /**
     * Reads the clocks of all nodes; completes when a quorum has answered, or all nodes have, or the time limit has
     * passed.
     */
    CompletableFuture<List<NodeReply>> sample(long timeoutNanos) {
        return gather(timeoutNanos, node -> probe(node, timeoutNanos), replies -> {
            long answered = replies.stream()
                    .filter(NodeReply.Answered.class::isInstance)
                    .count();
            return answered >= quorum();
        });
    }

    /**
     * Queries all nodes; completes when the answers are sufficient, or all nodes have answered, or the time limit has
     * passed.
     */
    <T> CompletableFuture<List<T>> gather(
            long timeoutNanos, IntFunction<CompletableFuture<T>> question, Predicate<List<T>> enough) {
        List<T> answers = new CopyOnWriteArrayList<>();
        CompletableFuture<List<T>> done = new CompletableFuture<>();
        LockRuntime.Timer patience = runtime.schedule(timeoutNanos, () -> done.complete(List.copyOf(answers)));
        done.whenComplete((all, error) -> patience.cancel());
        for (int node = 0; node < size(); node++) {
            question.apply(node).thenAccept(answer -> {
                answers.add(answer);
                if (answers.size() == size() || enough.test(answers)) {
                    done.complete(List.copyOf(answers));
                }
            });
        }
        return done;
    }
}
