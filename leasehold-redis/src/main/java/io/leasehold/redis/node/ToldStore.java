package io.leasehold.redis.node;

import io.leasehold.LockName;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.topology.Tracking;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Claim;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.PassingKeeper;
import io.leasehold.spi.PassingSignals;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A store whose server notifies it at once when the key of a hold is deleted, overwritten or evicted. It performs the
 * actions of {@link HeldKeys} in their order. {@link HeldKeys} is guarded by {@code this}; its actions are performed
 * outside of the monitor.
 *
 * <p>It changes no request and no answer. While the server reports nothing, it has no effect.
 */
public final class ToldStore extends PassingKeeper implements LockStore {

    private static final Logger LOG = LoggerFactory.getLogger(ToldStore.class);

    private final LockStore store;
    private final KeyLayout keys;
    private final LockRuntime runtime;
    private final Tracking tracking;
    private final HeldKeys held = new HeldKeys();
    private volatile StoreSignals signals = StoreSignals.NONE;
    /** The actions that are decided but not performed yet. */
    private final Queue<HeldKeys.Action> pending = new ArrayDeque<>();

    private boolean performing;
    /** The owner tokens whose leases are beginning from a message. */
    private final Set<OwnerToken> beginning = ConcurrentHashMap.newKeySet();

    /**
     * Wraps a store of this topology and closes it.
     *
     * @param keys the key layout of the locks
     */
    public ToldStore(LockStore store, Topology topology, KeyLayout keys, LockRuntime runtime) {
        super(store);
        this.store = store;
        this.keys = keys;
        this.runtime = runtime;
        this.tracking = topology.tracking(new Tracking.Listener() {
            @Override
            public void began() {
                on(new HeldKeys.Began());
            }

            @Override
            public void ended() {
                on(new HeldKeys.Paused());
            }

            @Override
            public void changed(@Nullable String key) {
                on(new HeldKeys.Changed(key));
            }
        });
    }

    @Override
    public Duration maxTtl() {
        return store.maxTtl();
    }

    @Override
    public boolean isOfNodes() {
        return store.isOfNodes();
    }

    @Override
    public void listen(StoreSignals listener) {
        signals = listener;
        super.listen(new PassingSignals(listener) {
            @Override
            public boolean claimed(Claim claim) {
                LockName name = claim.handOver().name();
                OwnerToken owner = claim.grant().owner();
                long untilAtNanos = runtime.nanoTime() + claim.claimNanos();
                beginning.add(owner);
                try {
                    if (!super.claimed(claim)) {
                        // Nothing to undo: if the answer to a request grants the lock instead, its observation begins
                        // with that answer.
                        return false;
                    }
                    held(name, owner, untilAtNanos, true);
                    if (!beginning.contains(owner)) {
                        // The lease has ended before its observation began.
                        on(new HeldKeys.Ended(keys.lock(name), owner));
                    }
                    return true;
                } finally {
                    beginning.remove(owner);
                }
            }
        });
        tracking.start();
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
        return store.acquire(request).thenApply(reply -> answered(request, reply));
    }

    private AcquireReply answered(AcquireRequest request, AcquireReply reply) {
        if (reply instanceof AcquireReply.Granted granted) {
            long untilAtNanos = runtime.nanoTime() + request.ttlNanos();
            OwnerToken owner = granted.grant().owner();
            request.names().forEach(name -> held(name, owner, untilAtNanos, true));
        }
        return reply;
    }

    @Override
    public CompletableFuture<AcquireReply> resume(AcquireRequest request, OwnerToken ticket) {
        return store.resume(request, ticket).thenApply(reply -> answered(request, reply));
    }

    /** Ends the observation of the hold first, as {@link #release} does. */
    @Override
    public CompletableFuture<ExportReply> export(ExportRequest request) {
        ended(request.name(), request.owner());
        return super.export(request);
    }

    /** The observation of the writer's hold has ended: its key changes now. */
    @Override
    public CompletableFuture<AcquireReply> downgrade(AcquireRequest request, OwnerToken writer) {
        ended(request.name(), writer);
        return store.downgrade(request, writer);
    }

    /** Observes a hold; permits and readers share a key, so that its changes say nothing of one of them. */
    private void held(LockName name, OwnerToken owner, long untilAtNanos, boolean isNew) {
        if (name.isPermits() || name.isRead()) {
            return;
        }
        on(new HeldKeys.Held(keys.lock(name), name, owner, untilAtNanos, isNew));
    }

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        return super.renew(batch).thenApply(reply -> {
            for (int i = 0; i < Math.min(batch.items().size(), reply.items().size()); i++) {
                renewed(batch.items().get(i), reply.items().get(i));
            }
            return reply;
        });
    }

    private void renewed(RenewBatch.Item asked, RenewReply.Item answer) {
        if (answer instanceof RenewReply.Renewed) {
            held(asked.name(), asked.owner(), runtime.nanoTime() + asked.ttlNanos(), false);
        } else if (answer instanceof RenewReply.NotOurs) {
            ended(asked.name(), asked.owner());
        }
    }

    private void ended(LockName name, OwnerToken owner) {
        beginning.remove(owner);
        on(new HeldKeys.Ended(keys.lock(name), owner));
    }

    /** Ends the observation of the hold first, since from now on this client itself changes its key. */
    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        for (LockName name : request.names()) {
            if (keys.refusal(name) == null) {
                ended(name, request.owner());
            }
        }
        return super.release(request);
    }

    /** Processes an event. Never throws, since callers that wait for an answer of the store must get it. */
    private void on(HeldKeys.Event event) {
        try {
            synchronized (this) {
                pending.addAll(held.on(event, runtime.nanoTime()));
                if (performing) {
                    return;
                }
                performing = true;
            }
        } catch (RuntimeException | Error e) {
            failed(e);
            return;
        }
        for (HeldKeys.Action next = next(); next != null; next = next()) {
            try {
                perform(next);
            } catch (RuntimeException | Error e) {
                failed(e);
            }
        }
    }

    private static void failed(Throwable e) {
        LOG.error("a change of a held lock could not be processed; the next renewal of the lock tells of it", e);
    }

    private synchronized HeldKeys.@Nullable Action next() {
        HeldKeys.Action action = pending.poll();
        performing = action != null;
        return action;
    }

    private void perform(HeldKeys.Action action) {
        if (action instanceof HeldKeys.Read read) {
            values(read.keys())
                    .whenComplete((values, error) -> on(
                            error == null
                                    ? new HeldKeys.Values(read.reading(), values)
                                    : new HeldKeys.Unread(read.reading(), RedisErrors.isRefused(error))));
        } else if (action instanceof HeldKeys.Doubt doubt) {
            signals.doubted(doubt.holds());
        } else if (action instanceof HeldKeys.Rest rest) {
            runtime.schedule(rest.nanos(), () -> on(new HeldKeys.Rested()));
        } else if (action instanceof HeldKeys.Wait pause) {
            runtime.schedule(pause.nanos(), () -> on(new HeldKeys.Again()));
        }
    }

    /** Reads values, and converts an exception of the driver to a failed future: otherwise the readings would stop. */
    private CompletableFuture<List<@Nullable String>> values(List<String> wanted) {
        try {
            return tracking.values(wanted);
        } catch (RuntimeException | Error e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    @Override
    public void close() {
        tracking.close();
        super.close();
    }
}
