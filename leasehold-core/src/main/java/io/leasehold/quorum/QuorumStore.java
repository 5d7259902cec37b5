package io.leasehold.quorum;

import io.leasehold.Guarantee;
import io.leasehold.Guarantees;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.NodeVote;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.node.Birth;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.MemberSet;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.StoreOperations;
import io.leasehold.spi.StoreSignals;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A store over independent nodes. The holder is the client for which a quorum of them keeps the lock (Redlock without
 * its known flaws).
 *
 * <p><b>Guarantee.</b> Two holders are never inside their validity at once, and fencing tokens increase, under three
 * conditions: clocks run at the same rate within the drift; no node's clock jumps; each node that loses its grants
 * detects that and then grants nothing for one largest ttl. A minority of nodes may be down, slow or cut off without
 * delaying requests.
 *
 * <p>Each request goes to all nodes at once and is answered at the quorum-th yes, or as soon as a quorum has become
 * impossible. The store has no hand-over and no queue: nodes wake the first waiter, and any client that asks may get
 * the lock. Safe for all threads.
 */
public final class QuorumStore implements LockStore, MemberSet {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");
    private static final int MIN_SWEEP = 1_024;

    private final List<QuorumMember> members;
    private final QuorumSettings settings;
    private final LockRuntime runtime;
    private final NodeSet nodes;
    private final String description;
    private final NodeReleases releases;
    private final NodeExports exports;
    /** The votes on tickets, by the owner tokens of the engine's requests. */
    private final Map<OwnerToken, QuorumResume> resumes = new ConcurrentHashMap<>();

    private final ContentionBackoff backoff;
    private final Map<OwnerToken, QuorumSession> sessions = new ConcurrentHashMap<>();
    private final QuorumSession.Shared shared;
    private volatile StoreSignals signals = StoreSignals.NONE;
    private final AtomicLong renewalRounds = new AtomicLong();
    /**
     * The number of sessions above which abandoned ones are swept: sessions that never ended, because the hold expired
     * or the thread died. It is twice the number left by the last sweep.
     */
    private volatile int sweepAbove = MIN_SWEEP;

    /**
     * Creates a store of nodes, which it closes. Sends no request.
     *
     * @throws IllegalArgumentException if the nodes are not a valid set; the message shows the calculation
     */
    public QuorumStore(List<QuorumMember> members, QuorumSettings settings, LockRuntime runtime) {
        this.members = List.copyOf(members);
        this.settings = settings;
        this.runtime = runtime;
        List<String> names = this.members.stream().map(QuorumMember::name).toList();
        NodeSetCheck.check(names, settings).forEach(LOG::warn);
        this.nodes = new NodeSet(this.members, settings, runtime);
        this.description = "redlock:" + names;
        this.releases = new NodeReleases(nodes);
        this.exports = new NodeExports(nodes);
        this.backoff = new ContentionBackoff(runtime, name -> signals.wake(name));
        this.shared = new QuorumSession.Shared(
                nodes, releases, exports, backoff, sessions, (owner, cause) -> signals.lost(owner, cause));
    }

    /**
     * Refuses an invalid set before any connection is made.
     *
     * @throws IllegalArgumentException with the offending value and the rule
     */
    public static void refuseUnfit(List<String> names, QuorumSettings settings) {
        NodeSetCheck.check(names, settings);
    }

    /**
     * Reads the identity and the clock of every node.
     *
     * @return completes exceptionally with {@link UnsafeStoreException} if two of them are the same server, and with
     *     {@link StoreUnavailableException} if no quorum answers in time; a minority that does not answer is logged
     */
    public CompletableFuture<Void> checkNodes(long timeoutNanos) {
        return nodes.all(node -> nodes.probe(node, timeoutNanos)).thenAccept(this::judge);
    }

    private void judge(List<NodeReply> probes) {
        List<String> silent = new ArrayList<>();
        for (int node = 0; node < nodes.size(); node++) {
            if (probes.get(node) instanceof NodeReply.Failed failed) {
                silent.add(nodes.names().get(node) + " (" + failed.error().getMessage() + ")");
                continue;
            }
            Distrust why = nodes.distrust(node);
            if (why != null && why.isSameServer()) {
                throw new UnsafeStoreException(nodes.names().get(node) + " " + why.text(), null);
            }
        }
        if (nodes.size() - silent.size() < nodes.quorum()) {
            throw new StoreUnavailableException(
                    "only " + (nodes.size() - silent.size()) + " of " + nodes.size() + " nodes answer, and "
                            + nodes.quorum() + " are needed; not: " + silent,
                    null);
        }
        if (!silent.isEmpty()) {
            LOG.warn(
                    "{} works with {} of {} nodes; these do not answer: {}",
                    description(),
                    nodes.size() - silent.size(),
                    nodes.size(),
                    silent);
        }
    }

    @Override
    public CompletableFuture<List<NodeVote>> declareNew(long timeoutNanos) {
        return checkNodes(timeoutNanos).thenCompose(done -> {
            Birth birth = Birth.declared(nodes.configuration(), timeoutNanos);
            return nodes.all(node -> {
                String name = nodes.names().get(node);
                return nodes.link(node)
                        .ask(target -> target.birth(birth), NodeReply.Failed::new)
                        .thenApply(reply -> reply instanceof NodeReply.Stale
                                ? new NodeVote(name, NodeVote.Answer.GRANTED, "grants from now on")
                                : Votes.of(name, reply));
            });
        });
    }

    @Override
    public String description() {
        return description;
    }

    /** The configuration that all clients of the set must share: its nodes, by their names, and the largest ttl. */
    public String configuration() {
        return nodes.configuration();
    }

    @Override
    public Guarantees guarantees() {
        Guarantee.Exclusion exclusion = least(Guarantee.Exclusion.WITHIN_DRIFT, QuorumMember::exclusion);
        Guarantee.Scope scope = least(
                Guarantee.Scope.NETWORK, member -> member.node().guarantees().scope());
        return new Guarantees(
                exclusion,
                exclusion == Guarantee.Exclusion.BEST_EFFORT
                        ? Guarantee.Fencing.BEST_EFFORT
                        : Guarantee.Fencing.INCREASING,
                Guarantee.Queueing.WAKE_UP,
                scope);
    }

    /** The weakest level that a member promises, capped at {@code most}. */
    private <T extends Enum<T>> T least(T most, Function<QuorumMember, T> promise) {
        return members.stream().map(promise).reduce(most, (a, b) -> a.compareTo(b) < 0 ? a : b);
    }

    @Override
    public Duration maxTtl() {
        return settings.maxTtl();
    }

    @Override
    public boolean isOfNodes() {
        return true;
    }

    @Override
    public Optional<MemberSet> members() {
        return Optional.of(this);
    }

    @Override
    public void listen(StoreSignals listener) {
        signals = listener;
        nodes.statuses().listen(listener::nodeChanged);
        for (int node = 0; node < nodes.size(); node++) {
            int from = node;
            nodes.link(node).node().listen(new StoreSignals() {
                @Override
                public void wake(LockName name) {
                    backoff.woken(name);
                }

                @Override
                public void lost(OwnerToken owner, LossCause cause) {
                    // A node can only report on itself; the lock is lost if no quorum is left.
                    QuorumSession session = sessions.get(owner);
                    if (session != null) {
                        session.takenAt(from, owner, cause);
                    }
                }

                @Override
                public void takenAway(LockName name) {
                    listener.takenAway(name);
                }

                @Override
                public void reconnected() {
                    releases.hurry();
                    listener.reconnected();
                }
            });
        }
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
        if (sessions.size() > sweepAbove) {
            long nowNanos = runtime.nanoTime();
            sessions.values().stream()
                    .filter(session -> session.isAbandoned(nowNanos))
                    .forEach(QuorumSession::forget);
            sweepAbove = Math.max(MIN_SWEEP, 2 * sessions.size());
        }
        QuorumSession session =
                sessions.computeIfAbsent(request.owner(), owner -> session(request.names(), owner, atNodes(request)));
        long askedAtNanos = runtime.nanoTime();
        long courtesyNanos = backoff.courtesyNanos(request.names().get(0));
        if (courtesyNanos == 0 || courtesyNanos > request.timeoutNanos() / 4) {
            return session.acquire(request, askedAtNanos);
        }
        CompletableFuture<AcquireReply> reply = new CompletableFuture<>();
        runtime.schedule(
                courtesyNanos, () -> session.acquire(request, askedAtNanos).thenAccept(reply::complete));
        return reply;
    }

    /**
     * The owner token at the nodes. A waiting attempt may ask again after it was swept, when its first owner token may
     * have ended; other attempts ask once.
     */
    private OwnerToken atNodes(AcquireRequest request) {
        return request.isWaiting() ? OwnerToken.draw(runtime) : request.owner();
    }

    /** The number of recorded attempts and holds; for tests. */
    long remembered() {
        return sessions.values().stream().distinct().count();
    }

    private QuorumSession session(List<LockName> names, OwnerToken asked, OwnerToken atNodes) {
        return new QuorumSession(shared, names, asked, atNodes);
    }

    /** The session of an unrecorded grant, whose owner token is the one at the nodes. */
    private QuorumSession unknown(List<LockName> names, OwnerToken granted) {
        return session(names, granted, granted);
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        QuorumSession session = sessions.get(request.owner());
        return (session != null && session.isOf(request.names().get(0))
                        ? session
                        : unknown(request.names(), request.owner()))
                .release(request)
                .thenApply(reply -> {
                    if (reply instanceof ReleaseReply.Released released && released.awaited()) {
                        backoff.awaited(request.names().get(0));
                    }
                    return reply;
                });
    }

    @Override
    public boolean keepsTickets() {
        return members.stream().allMatch(member -> member.node().keepsTickets());
    }

    @Override
    public CompletableFuture<ExportReply> export(ExportRequest request) {
        QuorumSession session = sessions.get(request.owner());
        return (session != null ? session : unknown(List.of(request.name()), request.owner())).export(request);
    }

    @Override
    public CompletableFuture<AcquireReply> resume(AcquireRequest request, OwnerToken ticket) {
        long nowNanos = runtime.nanoTime();
        resumes.values().removeIf(votes -> votes.isForgotten(nowNanos));
        QuorumResume votes = resumes.computeIfAbsent(
                request.owner(), owner -> new QuorumResume(nodes, exports, request.name(), owner, ticket));
        return votes.ask(request).thenApply(reply -> {
            if (reply instanceof AcquireReply.Granted granted) {
                OwnerToken owner = granted.grant().owner();
                QuorumSession session = session(request.names(), request.owner(), owner);
                session.resumed(request, granted.grant());
                sessions.put(request.owner(), session);
                sessions.put(owner, session);
            } else if (reply instanceof AcquireReply.Busy) {
                resumes.remove(request.owner(), votes);
            }
            return reply;
        });
    }

    @Override
    public boolean keepsReaders() {
        return members.stream().allMatch(member -> member.node().keepsReaders());
    }

    @Override
    public CompletableFuture<AcquireReply> downgrade(AcquireRequest request, OwnerToken writer) {
        QuorumSession session = sessions.computeIfAbsent(request.owner(), owner -> {
            QuorumSession known = sessions.get(writer);
            QuorumSession former =
                    known != null ? known : unknown(List.of(request.name().asExclusive()), writer);
            former.downgrades();
            return QuorumSession.ofDowngrade(shared, request.name(), owner, former);
        });
        return session.acquire(request, runtime.nanoTime());
    }

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        long round = renewalRounds.incrementAndGet();
        List<QuorumSession> renewed = new ArrayList<>();
        List<RenewBatch.Item> items = new ArrayList<>();
        List<CompletableFuture<RenewReply.Item>> replies = new ArrayList<>();
        Map<Long, List<QuorumSession>> byPatience = new TreeMap<>();
        for (RenewBatch.Item item : batch.items()) {
            QuorumSession known = sessions.get(item.owner());
            QuorumSession session =
                    known != null && known.isOf(item.name()) ? known : unknown(List.of(item.name()), item.owner());
            renewed.add(session);
            items.add(session.renewalItem(item));
            CompletableFuture<RenewReply.Item> reply = new CompletableFuture<>();
            replies.add(reply);
            session.renewing(round, reply);
            long nodeTimeoutNanos = settings.nodeTimeoutNanos(item.ttlNanos(), item.nodeTimeoutNanos());
            byPatience
                    .computeIfAbsent(Math.min(batch.timeoutNanos(), nodeTimeoutNanos), nanos -> new ArrayList<>())
                    .add(session);
        }
        List<LockRuntime.Timer> patience = new ArrayList<>();
        byPatience.forEach((nanos, sessionsOfIt) -> patience.add(
                runtime.schedule(nanos, () -> sessionsOfIt.forEach(session -> session.renewalLate(round)))));
        RenewBatch sent = new RenewBatch(items, batch.timeoutNanos());
        for (int node = 0; node < nodes.size(); node++) {
            int voter = node;
            nodes.renew(node, sent).thenAccept(reply -> {
                for (int i = 0; i < renewed.size(); i++) {
                    renewed.get(i).renewed(round, voter, reply.items().get(i));
                }
            });
        }
        return NodeSet.all(replies).thenApply(told -> {
            patience.forEach(LockRuntime.Timer::cancel);
            return new RenewReply(told);
        });
    }

    @Override
    public StoreAdmin admin() {
        return new QuorumAdmin(nodes);
    }

    @Override
    public StoreOperations operations() {
        return new QuorumAdmin(nodes);
    }

    /** Closes every node, even after a failure: otherwise the other nodes would stay connected. */
    @Override
    public void close() {
        long patienceNanos = Math.max(
                100_000_000L, 2 * settings.nodeTimeoutNanos(settings.maxTtl().toNanos()));
        List<Runnable> steps = new ArrayList<>();
        steps.add(() -> releases.close(patienceNanos));
        steps.add(exports::close);
        steps.add(backoff::close);
        members.forEach(member -> steps.add(() -> member.node().close()));
        Throwable first = null;
        for (Runnable step : steps) {
            try {
                step.run();
            } catch (RuntimeException | Error e) {
                first = first == null ? e : first;
            }
        }
        if (first instanceof RuntimeException failure) {
            throw failure;
        } else if (first instanceof Error failure) {
            throw failure;
        }
    }
}
