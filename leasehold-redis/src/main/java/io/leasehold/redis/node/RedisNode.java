package io.leasehold.redis.node;

import io.leasehold.Guarantees;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.node.Ballot;
import io.leasehold.node.Birth;
import io.leasehold.node.LockNode;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.topology.Link;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.topology.WakeUps;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LockValue;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.Messages;
import io.leasehold.redis.wire.PermitReplies;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.ReaderReplies;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ReplyDecoder;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.StoreOperations;
import io.leasehold.spi.StorePermits;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.SuccessorReply;
import io.leasehold.spi.SuccessorRequest;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A Redis deployment as a node: each verb is one script.
 *
 * <p>The node queues waiters only while a subscription is live, so that every queued waiter can be woken. The first
 * waiter that finds its lock busy starts the subscription, or the first hold that lasts for a second. A client with
 * neither has one connection.
 *
 * <p>Safe for all threads. Nothing is sent twice, except a script's text after the server has refused its digest.
 */
public final class RedisNode implements LockNode {

    /**
     * The maximum number of locks in a script, since a script blocks all other clients. More locks than this are
     * acquired one after the other.
     */
    private static final int MAX_AT_ONCE = 100;

    private final String description;
    private final NodeSettings settings;
    private final KeyLayout keys;
    private final LockRuntime runtime;
    private final Topology topology;
    private final WakeUps wakeUps;
    private final Requests requests;
    private final ReplyDecoder decoder;
    private final RedisAdmin admin;
    private final MemberVerbs member;
    private final RedisOperations operations;
    private final TicketVerbs tickets;
    private final MigrationFallback migration;
    private final WaitAcks acks;
    private final Renewals renewals;
    private final RedisPermits permits;
    private final RedisReaders readers;
    private volatile @Nullable StoreSignals signals;

    /**
     * Creates a node over an open topology, which the node closes.
     *
     * @param description the name of the node, for messages
     * @param settings the durations of the protocol and the guarantees of the deployment
     */
    public RedisNode(
            String description, NodeSettings settings, Topology topology, RedisErrors errors, LockRuntime runtime) {
        this.description = description;
        this.settings = settings;
        this.runtime = runtime;
        this.keys = settings.keys();
        this.topology = topology;
        this.decoder = new ReplyDecoder(errors);
        this.requests = new Requests(topology, errors, runtime);
        KeyScan scan = new KeyScan(requests, topology);
        this.wakeUps = topology.wakeUps(new Pushes());
        this.acks = new WaitAcks(requests, errors, settings);
        ReaderReplies ofReaders = new ReaderReplies(decoder, errors);
        this.member =
                new MemberVerbs(requests, acks, decoder, ofReaders, settings, topology, wakeUps, runtime, this::wake);
        this.tickets = new TicketVerbs(requests, acks, decoder, keys);
        this.migration = new MigrationFallback(requests, decoder, settings, runtime);
        this.renewals = new Renewals(requests, topology, keys, decoder, runtime);
        this.operations =
                new RedisOperations(description, requests, errors, topology, wakeUps, runtime, settings, scan);
        this.readers = new RedisReaders(requests, acks, decoder, ofReaders, settings, operations::tellTaken);
        this.admin = new RedisAdmin(requests, decoder, settings, scan, operations::tellTaken, readers);
        PermitReplies replies = new PermitReplies(decoder, errors, description);
        this.permits =
                new RedisPermits(requests, acks, replies, keys, settings.lifeCheck(), scan, operations::tellTaken);
        topology.onReconnected(this::tellReconnected);
        wakeUps.onResubscribed(this::tellReconnected);
    }

    @Override
    public String description() {
        return description;
    }

    @Override
    public Guarantees guarantees() {
        return settings.guarantees();
    }

    @Override
    public boolean isAtomicOver(List<LockName> names) {
        return names.size() <= MAX_AT_ONCE
                && names.stream().noneMatch(LockName::isRead)
                && topology.isTogether(names.stream().map(keys::place).toList());
    }

    @Override
    public void listen(StoreSignals listener) {
        signals = listener;
    }

    /** Receives the messages of this client's channels. */
    private final class Pushes implements WakeUps.Listener {
        @Override
        public void message(String message) {
            message(message, null);
        }

        @Override
        public void message(String message, WakeUps.@Nullable Origin origin) {
            StoreSignals listener = signals;
            if (listener != null) {
                Messages.wakeUp(message, keys).ifPresent(listener::wake);
                Messages.takenAway(message, keys).ifPresent(listener::takenAway);
                Messages.handOver(message, keys)
                        .ifPresent(handOver -> listener.handedOver(
                                handOver.over(channel(handOver.name(), Messages.writer(message), origin))));
            }
        }
    }

    /**
     * Returns the channel of a hand-over, if the requests for the lock go to the server that wrote and delivered it. A
     * replica also delivers what its primary wrote, with the time of another clock. A member of a set hands nothing
     * over, and a hand-over says nothing of replicas that must acknowledge it.
     */
    private HandOver.@Nullable Channel channel(
            LockName name, Optional<Incarnation> writer, WakeUps.@Nullable Origin origin) {
        if (origin == null || settings.member() || settings.acknowledgement().isWanted()) {
            return null;
        }
        if (writer.isEmpty() || !writer.get().equals(origin.server())) {
            return null;
        }
        Link link = topology.current(keys.lock(name));
        if (link == null || !link.incarnation().equals(origin.server())) {
            return null;
        }
        boolean isLinkYounger = link.madeAtNanos() - origin.sinceAtNanos() > 0;
        return new HandOver.Channel(origin.server(), isLinkYounger ? link.madeAtNanos() : origin.sinceAtNanos());
    }

    private void wake(LockName name) {
        StoreSignals listener = signals;
        if (listener != null) {
            listener.wake(name);
        }
    }

    private void tellReconnected() {
        StoreSignals listener = signals;
        if (listener != null) {
            listener.reconnected();
        }
    }

    @Override
    public String part(LockName name) {
        return topology.part(keys.place(name));
    }

    @Override
    public CompletableFuture<NodeReply> probe(long timeoutNanos) {
        return probe(KeyLayout.marker(), timeoutNanos);
    }

    @Override
    public CompletableFuture<NodeReply> probe(LockName name, long timeoutNanos) {
        return probe(keys.place(name), timeoutNanos);
    }

    private CompletableFuture<NodeReply> probe(String key, long timeoutNanos) {
        return requests.send(
                "read the clock",
                timeoutNanos,
                key,
                PlainCommand.TIME,
                (time, link) -> {
                    long micros = Long.parseLong(time.get(0)) * 1_000_000 + Long.parseLong(time.get(1));
                    return new NodeReply.Stale(0, link.incarnation(), micros);
                },
                FailedReplies::failed);
    }

    @Override
    public CompletableFuture<NodeReply> acquire(Ballot ballot) {
        AcquireRequest request = ballot.request();
        for (LockName name : request.names()) {
            String refusal = keys.refusal(name);
            if (refusal != null) {
                LockStoreException error = new LockStoreException(refusal, null);
                return CompletableFuture.completedFuture(new NodeReply.Failed(FailureKind.PERMANENT, error));
            }
        }
        if (request.names().size() > 1) {
            return proposeForAll(ballot);
        }
        boolean waits = request.isWaiting();
        String lock = keys.lock(request.names().get(0));
        boolean live = waits && wakeUps.isLive(lock);
        CompletableFuture<NodeReply> first = propose(ballot, lock, live, request.timeoutNanos());
        if (!waits || live) {
            return first;
        }
        long startAtNanos = runtime.nanoTime();
        return first.thenCompose(reply -> {
            if (!(reply instanceof NodeReply.Held)) {
                return CompletableFuture.completedFuture(reply);
            }
            return queueOnceSubscribed(ballot, lock, reply, startAtNanos);
        });
    }

    /** Subscribes after the lock was busy, and then requests a place in the queue. */
    private CompletableFuture<NodeReply> queueOnceSubscribed(
            Ballot ballot, String lock, NodeReply held, long startAtNanos) {
        long timeoutNanos = ballot.request().timeoutNanos();
        CompletableFuture<Boolean> subscribed = wakeUps.started(lock);
        LockRuntime.Timer patience =
                runtime.schedule(leftNanos(startAtNanos, timeoutNanos) / 2, () -> subscribed.complete(false));
        return subscribed.thenCompose(live -> {
            patience.cancel();
            long leftNanos = leftNanos(startAtNanos, timeoutNanos);
            return live && leftNanos > 0
                    ? propose(ballot, lock, true, leftNanos)
                    : CompletableFuture.completedFuture(held);
        });
    }

    private long leftNanos(long startAtNanos, long timeoutNanos) {
        return timeoutNanos - (runtime.nanoTime() - startAtNanos);
    }

    @Override
    public CompletableFuture<NodeReply> acquire(Ballot ballot, Membership membership) {
        return member.acquire(ballot, membership);
    }

    @Override
    public CompletableFuture<NodeReply> birth(Birth birth) {
        return member.birth(birth);
    }

    private CompletableFuture<NodeReply> propose(Ballot ballot, String lock, boolean queue, long timeoutNanos) {
        if (ballot.request().name().isPermits()) {
            return permits.propose(ballot, queue ? place(ballot.request(), lock) : null, timeoutNanos);
        }
        if (ballot.request().name().isRead()) {
            return readers.propose(ballot, queue ? place(ballot.request(), lock) : null, timeoutNanos);
        }
        Requests.Subject subject =
                new Requests.Subject("acquire", ballot.request().name());
        return acks.acquire(
                subject,
                timeoutNanos,
                GrantCalls.acquire(lock, ballot, queue ? place(ballot.request(), lock) : null, settings.lifeCheck()),
                (reply, link) -> decoder.acquire(reply, link.incarnation(), subject));
    }

    private GrantCalls.Place place(AcquireRequest request, String lock) {
        long millis = settings.placeMillis(request.recheckNanos());
        return new GrantCalls.Place(millis, wakeUps.channel(lock, TimeUnit.MILLISECONDS.toNanos(millis)));
    }

    /** Requests several locks at once, all or none. Such a request has no place in any queue. */
    private CompletableFuture<NodeReply> proposeForAll(Ballot ballot) {
        AcquireRequest request = ballot.request();
        List<LockName> names = request.names();
        String[] all = names.stream()
                .map(this.keys::lock)
                .flatMap(lock -> Stream.of(KeyLayout.grantKeys(lock)))
                .toArray(String[]::new);
        String[] arguments = {
            LockValue.of(request.owner(), ballot.candidate(), request.holderId()),
            Long.toString(NodeSettings.ceilMillis(request.ttlNanos())),
            Long.toString(ballot.candidate()),
            Long.toString(ballot.tokens().last()),
            Long.toString(settings.retentionMicros()),
            Long.toString(settings.boundMicros())
        };
        String subject = "acquire " + names.size() + " locks, among them \"" + names.get(0) + "\"";
        return acks.acquire(
                subject,
                request.timeoutNanos(),
                new ScriptCall(LuaScript.ACQUIRE_ALL, all, arguments),
                (reply, link) -> decoder.acquire(reply, link.incarnation(), subject));
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        if (settings.member()) {
            return member.release(request);
        }
        if (request.names().size() == 1) {
            return release(request.names().get(0), request);
        }
        List<CompletableFuture<ReleaseReply>> each =
                request.names().stream().map(name -> release(name, request)).toList();
        return each.stream()
                .reduce((one, other) -> one.thenCombine(other, RedisNode::worse))
                .orElseThrow();
    }

    /**
     * The common reply of two releases: failed if one failed, and to be repeated if one must be; else released if one
     * was.
     */
    private static ReleaseReply worse(ReleaseReply one, ReleaseReply other) {
        if (one instanceof ReleaseReply.Failed failed && failed.kind() != FailureKind.PERMANENT) {
            return one;
        }
        if (other instanceof ReleaseReply.Failed || one instanceof ReleaseReply.NotOurs) {
            return other instanceof ReleaseReply.NotOurs ? one : other;
        }
        return one;
    }

    private CompletableFuture<ReleaseReply> release(LockName name, ReleaseRequest request) {
        return releaseWhole(name, request)
                .thenCompose(reply -> FailedReplies.isOfMigration(reply)
                        ? migration.release(name, request, releaseKey(name, request), () -> releaseWhole(name, request))
                        : CompletableFuture.completedFuture(reply));
    }

    /** The release with the one key of a hold that others share. */
    private @Nullable Supplier<CompletableFuture<ReleaseReply>> releaseKey(LockName name, ReleaseRequest request) {
        if (name.isPermits()) {
            return () -> permits.releaseKey(name, request);
        }
        return name.isRead() ? () -> readers.releaseKey(name, request) : null;
    }

    private CompletableFuture<ReleaseReply> releaseWhole(LockName name, ReleaseRequest request) {
        if (name.isPermits()) {
            return permits.release(name, request);
        } else if (name.isRead()) {
            return readers.release(name, request);
        }
        return requests.run(
                new Requests.Subject("release", name),
                request.timeoutNanos(),
                GrantCalls.release(keys.lock(name), request, settings.lifeCheck()),
                (reply, link) -> decoder.release(reply),
                FailedReplies::releaseFailed);
    }

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        return renewals.renew(batch);
    }

    @Override
    public boolean keepsTickets() {
        return true;
    }

    @Override
    public boolean keepsReaders() {
        return true;
    }

    @Override
    public CompletableFuture<NodeReply> downgrade(Ballot ballot, OwnerToken writer) {
        return readers.downgrade(ballot, writer);
    }

    @Override
    public CompletableFuture<NodeReply> downgrade(Ballot ballot, OwnerToken writer, Membership membership) {
        return member.downgrade(ballot, writer, membership);
    }

    @Override
    public CompletableFuture<ExportReply> export(ExportRequest request) {
        return tickets.export(request);
    }

    @Override
    public CompletableFuture<NodeReply> resume(Ballot ballot, OwnerToken ticket) {
        return tickets.resume(ballot, ticket);
    }

    @Override
    public CompletableFuture<NodeReply> resume(Ballot ballot, OwnerToken ticket, Resume step, Membership membership) {
        return member.resume(ballot, ticket, step, membership);
    }

    /** A member of a set hands nothing over. */
    @Override
    public boolean namesSuccessors() {
        return !settings.member();
    }

    @Override
    public CompletableFuture<SuccessorReply> nameSuccessor(SuccessorRequest request) {
        Requests.Subject subject = new Requests.Subject("name the successor in", request.name());
        String lock = keys.lock(request.name());
        String[] all = {lock, KeyLayout.queued(lock), KeyLayout.behind(lock), KeyLayout.wanted(lock)};
        return requests.run(
                subject,
                request.timeoutNanos(),
                new ScriptCall(LuaScript.NAME_SUCCESSOR, all, new String[] {
                    request.owner().hex(), request.holderId()
                }),
                (reply, link) -> decoder.successor(reply, subject),
                failure -> new SuccessorReply.Failed(failure.kind(), failure.error()));
    }

    @Override
    public StoreAdmin admin() {
        return admin;
    }

    @Override
    public Optional<StorePermits> permits() {
        return settings.member() ? Optional.empty() : Optional.of(permits);
    }

    @Override
    public StoreOperations operations() {
        return operations;
    }

    @Override
    public void close() {
        migration.close();
        wakeUps.close();
        topology.close();
    }
}
