package io.leasehold.redis.store;

import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.redis.node.DurabilityCheck;
import io.leasehold.redis.node.EfficiencyStore;
import io.leasehold.redis.node.NodeSettings;
import io.leasehold.redis.node.RedisNode;
import io.leasehold.redis.node.ToldStore;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.topology.Driver;
import io.leasehold.redis.topology.Link;
import io.leasehold.redis.topology.Topologies;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.toolkit.Failure;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The opening of one node of any topology. Only this class makes a node from a URI. */
public final class NodeOpening {

    private static final Logger LOG = LoggerFactory.getLogger(NodeOpening.class);

    /** The time limit of an opening. */
    public static final long OPEN_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final Deployment where;
    private final LockRuntime runtime;
    private final RedisErrors errors;
    private final Topology topology;
    private final CompletableFuture<Outcome> outcome;

    /**
     * The result of an opening.
     *
     * @param open whether the node is connected
     * @param found the known configuration of each connected server life; empty if it could not be read
     * @param failure the reason why the node is not connected or why the configuration is unknown
     */
    public record Outcome(
            boolean open,
            Map<Incarnation, DurabilityCheck> found,
            @Nullable Throwable failure) {

        /**
         * Whether the request for the configuration was cut off, for example by a proxy that closes such connections.
         */
        public boolean isCutOff() {
            return open
                    && failure instanceof StoreUnavailableException
                    && !(failure.getCause() instanceof ServerRefusal);
        }

        /** The weakest durability of all connected servers, or null if nothing is known. */
        public @Nullable DurabilityCheck weakest() {
            return found.values().stream().reduce(DurabilityCheck::weaker).orElse(null);
        }
    }

    /**
     * Starts to connect with a driver that the node closes. If this constructor fails, it closes the driver at once.
     */
    public NodeOpening(Deployment where, Driver driver, LockRuntime runtime) {
        this.where = where;
        this.runtime = runtime;
        this.errors = where.errors();
        try {
            this.topology = Topologies.of(where, driver, errors, runtime);
            this.outcome = topology.open().handle(this::opened).thenCompose(outcome -> outcome);
        } catch (RuntimeException | Error e) {
            driver.close();
            throw e;
        }
    }

    private CompletableFuture<Outcome> opened(@Nullable Void open, @Nullable Throwable error) {
        if (error != null) {
            return CompletableFuture.completedFuture(new Outcome(false, Map.of(), Failure.unwrapped(error)));
        }
        return look().handle((found, unknown) -> new Outcome(
                true,
                found == null ? Map.of() : found,
                unknown == null
                        ? null
                        : errors.of(unknown, "read its configuration").error()));
    }

    /** The result of the opening. The future never completes exceptionally. */
    public CompletableFuture<Outcome> outcome() {
        return outcome;
    }

    /**
     * Reads the configuration of each connected server that answers; the future fails if no server answers. Never
     * throws.
     */
    public CompletableFuture<Map<Incarnation, DurabilityCheck>> look() {
        List<Link> connected;
        try {
            connected = topology.connected();
        } catch (RuntimeException | Error notConnected) {
            return CompletableFuture.failedFuture(notConnected);
        }
        Map<Incarnation, DurabilityCheck> found = new ConcurrentHashMap<>();
        AtomicReference<Throwable> failure = new AtomicReference<>(new IllegalStateException("no server is connected"));
        CompletableFuture<?>[] each = connected.stream()
                .map(link -> DurabilityCheck.of(link).handle((check, error) -> {
                    if (check != null) {
                        found.put(link.incarnation(), check);
                    } else if (error != null) {
                        failure.set(error);
                    }
                    return check;
                }))
                .toArray(CompletableFuture<?>[]::new);
        return CompletableFuture.allOf(each)
                .thenCompose(done -> found.isEmpty()
                        ? CompletableFuture.failedFuture(failure.get())
                        : CompletableFuture.completedFuture(Map.copyOf(found)));
    }

    /** Keeps trying to connect after a failed opening. */
    public void keepTrying() {
        topology.keepTrying();
    }

    /** Creates the node. Close the node in place of this object. */
    public RedisNode node(NodeSettings settings) {
        return new RedisNode(
                where.toString(),
                settings.keys(where.keys()).acknowledged(where.acknowledgement()),
                topology,
                errors,
                runtime);
    }

    /** Waits for the connection and creates the node. Blocks; if the opening fails, it is closed. */
    public RedisNode openNode() {
        try {
            DurabilityCheck durability = await(outcome.thenCompose(NodeOpening::known));
            warnOfEviction(where.toString(), durability);
            return node(NodeSettings.standard(RedisGuarantees.of(where.kind(), durability.durable())));
        } catch (RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    /**
     * Waits for the connection and creates a store for locks without a fence and without a queue. Blocks; if the
     * opening fails, it is closed.
     */
    public EfficiencyStore openPlain() {
        try {
            warnOfEviction(where.toString(), await(outcome.thenCompose(NodeOpening::known)));
            EfficiencyStore store = new EfficiencyStore(where.toString(), where.keys(), topology, errors, runtime);
            await(store.detect());
            return store;
        } catch (RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    /**
     * Wraps a store of this opening so that the server notifies it of changes to its holds, if the deployment requests
     * that.
     */
    public LockStore told(LockStore store) {
        return where.isToldAtOnce() ? new ToldStore(store, topology, where.keys(), runtime) : store;
    }

    private static CompletableFuture<DurabilityCheck> known(Outcome outcome) {
        DurabilityCheck weakest = outcome.weakest();
        if (weakest != null) {
            return CompletableFuture.completedFuture(weakest);
        }
        Throwable failure = outcome.failure();
        if (outcome.isCutOff()) {
            LOG.warn(
                    "the configuration of a server could not be read, so it does not count as durable: {}",
                    String.valueOf(failure));
            return CompletableFuture.completedFuture(DurabilityCheck.UNREADABLE);
        }
        return CompletableFuture.failedFuture(failure == null ? new IllegalStateException("no outcome") : failure);
    }

    /** Warns if the server may evict held locks. */
    public static void warnOfEviction(String server, @Nullable DurabilityCheck durability) {
        if (durability != null && durability.evicting() != null) {
            LOG.warn(
                    "{} has maxmemory-policy {}: it may drop held locks when its memory is full; set noeviction",
                    server,
                    durability.evicting());
        }
    }

    private <T> T await(CompletableFuture<T> future) {
        return await(
                future,
                runtime,
                where.toString(),
                limited -> limited.completeExceptionally(new StoreUnavailableException(
                        where + " did not answer within " + TimeUnit.NANOSECONDS.toSeconds(OPEN_NANOS) + " s", null)));
    }

    /**
     * Waits for a step of an opening.
     *
     * @param place the server or servers of the opening, for messages
     * @param late ends the step if it takes longer than an opening may
     */
    public static <T> T await(
            CompletableFuture<T> future, LockRuntime runtime, String place, Consumer<CompletableFuture<T>> late) {
        CompletableFuture<T> limited = future.copy();
        LockRuntime.Timer patience = runtime.schedule(OPEN_NANOS, () -> late.accept(limited));
        try {
            runtime.await(limited);
            return limited.get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new StoreUnavailableException("interrupted while connecting to " + place, e);
        } catch (ExecutionException e) {
            if (Failure.unwrapped(e) instanceof LockStoreException reason) {
                throw reason;
            }
            throw new StoreUnavailableException("cannot connect to " + place + ": " + e.getCause(), e);
        } finally {
            patience.cancel();
        }
    }

    /** Closes the connections of an opening that failed. */
    public void close() {
        topology.close();
    }
}
