package io.leasehold.redis.node;

import io.leasehold.Guarantee;
import io.leasehold.Guarantees;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.redis.topology.Link;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.wire.CompareAndDelete;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ReplyDecoder;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.TokenRange;
import io.leasehold.spi.toolkit.Failure;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A store of locks without a fence and without a queue: {@code SET NX PX}, renewal, compare-and-delete. Each lock has
 * one key, and nothing remains after its release.
 *
 * <p>Its tokens count the grants of this process and have no meaning for a resource; {@code EfficiencyLocks} does not
 * show them. Safe for all threads. Nothing is sent twice, except in another form after the server has refused the first
 * form.
 */
public final class EfficiencyStore implements LockStore {

    private static final long DETECTION_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final Guarantees GUARANTEES = new Guarantees(
            Guarantee.Exclusion.BEST_EFFORT,
            Guarantee.Fencing.BEST_EFFORT,
            Guarantee.Queueing.POLLING,
            Guarantee.Scope.NETWORK);

    private final String description;
    private final KeyLayout keys;
    private final Topology topology;
    private final LockRuntime runtime;
    private final Requests requests;
    private final Renewals renewals;
    private final RedisAdmin admin;
    private final AtomicLong nextToken = new AtomicLong(1);
    private volatile CompareAndDelete comparison = CompareAndDelete.SCRIPT;
    private volatile String holderId = "";

    /**
     * Creates a store over an open topology, which the store closes.
     *
     * @param description the name of the deployment, for messages
     */
    public EfficiencyStore(
            String description, KeyLayout keys, Topology topology, RedisErrors errors, LockRuntime runtime) {
        this.description = description;
        this.keys = keys;
        this.topology = topology;
        this.runtime = runtime;
        ReplyDecoder decoder = new ReplyDecoder(errors);
        this.requests = new Requests(topology, errors, runtime);
        this.renewals = new Renewals(requests, topology, keys, decoder, runtime);
        this.admin = new RedisAdmin(
                requests,
                decoder,
                NodeSettings.standard(GUARANTEES).keys(keys),
                new KeyScan(requests, topology),
                null,
                null);
    }

    /** Detects how the server compares and deletes; without an answer, by script. */
    public CompletableFuture<CompareAndDelete> detect() {
        return requests.<String, CompareAndDelete>send(
                        "read INFO",
                        DETECTION_NANOS,
                        KeyLayout.marker(),
                        PlainCommand.info("server"),
                        (info, link) -> CompareAndDelete.of(info),
                        failure -> CompareAndDelete.SCRIPT)
                .thenApply(found -> {
                    comparison = found;
                    return found;
                });
    }

    /** The detected way, or the script after the server has refused its own command. */
    CompareAndDelete comparison() {
        return comparison;
    }

    /** Sets another way to compare and delete than the detected one. */
    void comparing(CompareAndDelete way) {
        comparison = way;
    }

    @Override
    public String description() {
        return description;
    }

    @Override
    public Guarantees guarantees() {
        return GUARANTEES;
    }

    @Override
    public void listen(StoreSignals signals) {
        topology.onReconnected(signals::reconnected);
    }

    private String value(OwnerToken owner) {
        return owner.hex() + "::" + holderId;
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
        LockName name = request.name();
        String refusal = keys.refusal(name);
        if (refusal != null) {
            return CompletableFuture.completedFuture(
                    new AcquireReply.Failed(FailureKind.PERMANENT, new LockStoreException(refusal, null), 0));
        }
        // A client has only one holder id.
        holderId = request.holderId();
        Requests.Subject subject = new Requests.Subject("acquire", name);
        String key = keys.lock(name);
        String value = value(request.owner());
        long ttlMillis = NodeSettings.ceilMillis(request.ttlNanos());
        // Read the time before sending: it must not be later.
        long sentAtNanos = runtime.nanoTime();
        if (request.ballotSoFar() > 0) {
            return requests.run(
                    subject,
                    request.timeoutNanos(),
                    new ScriptCall(
                            LuaScript.PLAIN_ACQUIRE, new String[] {key}, new String[] {value, Long.toString(ttlMillis)
                            }),
                    (taken, link) -> reply(isOne(taken), request, sentAtNanos, link),
                    EfficiencyStore::failed);
        }
        return requests.ask(
                subject,
                request.timeoutNanos(),
                key,
                PlainCommand.setIfFree(key, value, ttlMillis),
                (done, link) -> reply(done.equals("OK"), request, sentAtNanos, link),
                EfficiencyStore::failed);
    }

    private static boolean isOne(List<Object> reply) {
        return reply.get(0).equals(1L);
    }

    private AcquireReply reply(boolean taken, AcquireRequest request, long sentAtNanos, Link link) {
        if (!taken) {
            return new AcquireReply.Busy(null, request.ballotSoFar(), List.of());
        }
        TokenRange tokens = TokenRange.of(nextToken.getAndAdd(request.reserve()), request.reserve());
        return new AcquireReply.Granted(new Grant(request.owner(), tokens, sentAtNanos, link.incarnation()), List.of());
    }

    /**
     * Marks a request with an unknown outcome by its ballot: the next request then checks whether the key is its own.
     */
    private static AcquireReply failed(Failure failure) {
        return new AcquireReply.Failed(failure.kind(), failure.error(), failure.kind() == FailureKind.UNKNOWN ? 1 : 0);
    }

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        return renewals.renew(batch);
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        LockName name = request.names().get(0);
        CompareAndDelete way = comparison;
        CompletableFuture<ReleaseReply> first = release(name, request, way);
        if (way == CompareAndDelete.SCRIPT) {
            return first;
        }
        return first.thenCompose(reply -> {
            if (reply instanceof ReleaseReply.Failed failed && failed.kind() == FailureKind.PERMANENT) {
                // A proxy or an ACL rule does not know the command, so nothing has run yet.
                comparison = CompareAndDelete.SCRIPT;
                return release(name, request, CompareAndDelete.SCRIPT);
            }
            return CompletableFuture.completedFuture(reply);
        });
    }

    private CompletableFuture<ReleaseReply> release(LockName name, ReleaseRequest request, CompareAndDelete way) {
        String key = keys.lock(name);
        String value = value(request.owner());
        Requests.Subject subject = new Requests.Subject("release", name);
        if (way == CompareAndDelete.SCRIPT) {
            return requests.run(
                    subject,
                    request.timeoutNanos(),
                    new ScriptCall(LuaScript.PLAIN_RELEASE, new String[] {key}, new String[] {value}),
                    (deleted, link) -> ended(isOne(deleted)),
                    FailedReplies::releaseFailed);
        }
        return requests.send(
                subject,
                request.timeoutNanos(),
                key,
                way.command(key, value),
                (deleted, link) -> ended(deleted.equals(1L)),
                failure -> new ReleaseReply.Failed(failure.kind(), failure.error()));
    }

    private static ReleaseReply ended(boolean deleted) {
        return deleted ? new ReleaseReply.Released() : new ReleaseReply.NotOurs();
    }

    @Override
    public StoreAdmin admin() {
        return admin;
    }

    @Override
    public void close() {
        topology.close();
    }
}
