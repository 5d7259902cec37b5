package io.leasehold.redis;

import io.leasehold.redis.node.DurabilityCheck;
import io.leasehold.redis.node.EfficiencyStore;
import io.leasehold.redis.node.NodeSettings;
import io.leasehold.redis.node.RedisNode;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.topology.Driver;
import io.leasehold.redis.topology.DriverThreads;
import io.leasehold.redis.topology.Link;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** One node on its way to being open, whatever its topology: the only place where a node is made from a URI. */
final class NodeOpening {

    private final Deployment where;
    private final LockRuntime runtime;
    private final RedisErrors errors;
    private final Topology topology;
    private final CompletableFuture<Outcome> outcome;

    /** How that went: what is known of its configuration, or why there is no connection. */
    record Outcome(
            @Nullable DurabilityCheck found, @Nullable Throwable failure) {}

    /** Begins to connect. */
    NodeOpening(Deployment where, LockRuntime runtime) {
        this(where, runtime, new DriverThreads());
    }

    /** Begins to connect, over threads that others share. */
    NodeOpening(Deployment where, LockRuntime runtime, DriverThreads threads) {
        this(where, Driver.of(where, threads), runtime);
    }

    /** Begins to connect, over a driver that is closed with the node. */
    NodeOpening(Deployment where, Driver driver, LockRuntime runtime) {
        this.where = where;
        this.runtime = runtime;
        this.errors = new RedisErrors(where.toString(), where.rights(), where.keys());
        this.topology = Topology.of(where, driver, errors, runtime);
        this.outcome = topology.open()
                .thenCompose(open -> DurabilityCheck.of(topology.connected()))
                .handle((found, error) -> new Outcome(found, error == null ? null : RedisErrors.unwrapped(error)));
    }

    /** Never completes exceptionally. */
    CompletableFuture<Outcome> outcome() {
        return outcome;
    }

    /** What was named. */
    Deployment where() {
        return where;
    }

    /** The lives of the servers that are connected. */
    List<Incarnation> lives() {
        return topology.connected().stream().map(Link::incarnation).toList();
    }

    /** Reads the configuration of the servers that are connected, once more; fails if none is. */
    CompletableFuture<DurabilityCheck> look() {
        List<Link> connected = topology.connected();
        return connected.isEmpty()
                ? CompletableFuture.failedFuture(new IllegalStateException(where + " is not connected"))
                : DurabilityCheck.of(connected);
    }

    /** Not connected yet: goes on trying. */
    void keepTrying() {
        topology.keepTrying();
    }

    /** The node; it is closed instead of this. */
    RedisNode node(NodeSettings settings) {
        return new RedisNode(
                where.toString(),
                settings.keys(where.keys()).acknowledged(where.acknowledgement()),
                topology,
                errors,
                runtime);
    }

    /** The same place for locks without fence and queue; it is closed instead of this. */
    EfficiencyStore plain() {
        return new EfficiencyStore(where.toString(), where.keys(), topology, errors, runtime);
    }

    /** Gives it up. */
    void close() {
        topology.close();
    }
}
