package io.leasehold.redis;

import io.leasehold.CredentialsProvider;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.redis.node.DurabilityCheck;
import io.leasehold.redis.node.EfficiencyStore;
import io.leasehold.redis.node.NodeSettings;
import io.leasehold.redis.node.RedisNode;
import io.leasehold.redis.store.RedisGuarantees;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.topology.Driver;
import io.leasehold.redis.topology.DriverThreads;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreProvider;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.Failure;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens stores in Redis or Valkey: {@code redis://}, {@code redis-replicated://}, {@code redis-sentinel://}, {@code
 * redis-cluster://} and, over TLS, the same with {@code rediss}.
 */
public final class RedisStoreProvider implements StoreProvider {

    private static final Logger LOG = LoggerFactory.getLogger(RedisStoreProvider.class);
    private static final long OPEN_NANOS = TimeUnit.SECONDS.toNanos(5);

    /** For {@link java.util.ServiceLoader}. */
    public RedisStoreProvider() {}

    @Override
    public Set<String> schemes() {
        return Deployment.schemes();
    }

    @Override
    public LockStore open(StoreUri uri, LockRuntime runtime) {
        return new SingleNodeStore(openNode(uri, runtime), runtime);
    }

    @Override
    public LockStore open(StoreUri uri, CredentialsProvider credentials, LockRuntime runtime) {
        return RedisStore.at(uri.text()).credentials(credentials).open(runtime);
    }

    /** One deployment as a node, connected. */
    RedisNode openNode(StoreUri uri, LockRuntime runtime) {
        Deployment where = Deployment.parse(uri);
        return openNode(where, Driver.of(where, new DriverThreads()), runtime);
    }

    /** One deployment as a node, over a driver that is closed with it. */
    static RedisNode openNode(Deployment where, Driver driver, LockRuntime runtime) {
        NodeOpening opening = new NodeOpening(where, driver, runtime);
        try {
            DurabilityCheck durability = found(opening, runtime);
            warn(where, durability);
            return opening.node(NodeSettings.standard(RedisGuarantees.of(where.kind(), durability.durable())));
        } catch (RuntimeException e) {
            opening.close();
            throw e;
        }
    }

    /** One deployment for locks without fence and queue, over a driver that is closed with it. */
    static EfficiencyStore openPlain(Deployment where, Driver driver, LockRuntime runtime) {
        NodeOpening opening = new NodeOpening(where, driver, runtime);
        try {
            warn(where, found(opening, runtime));
            EfficiencyStore store = opening.plain();
            await(store.detect(), runtime, where);
            return store;
        } catch (RuntimeException e) {
            opening.close();
            throw e;
        }
    }

    private static DurabilityCheck found(NodeOpening opening, LockRuntime runtime) {
        return await(opening.outcome().thenCompose(RedisStoreProvider::known), runtime, opening.where());
    }

    private static CompletableFuture<DurabilityCheck> known(NodeOpening.Outcome outcome) {
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

    private static void warn(Deployment server, DurabilityCheck durability) {
        if (durability.evicting() != null) {
            LOG.warn(
                    "{} has maxmemory-policy {}: it may drop held locks when its memory is full; set noeviction",
                    server,
                    durability.evicting());
        }
    }

    private static <T> T await(CompletableFuture<T> future, LockRuntime runtime, Deployment server) {
        CompletableFuture<T> limited = future.copy();
        LockRuntime.Timer patience = runtime.schedule(
                OPEN_NANOS,
                () -> limited.completeExceptionally(new StoreUnavailableException(
                        server + " did not answer within " + TimeUnit.NANOSECONDS.toSeconds(OPEN_NANOS) + " s", null)));
        try {
            runtime.await(limited);
            return limited.get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new StoreUnavailableException("interrupted while connecting to " + server, e);
        } catch (ExecutionException e) {
            Throwable cause = e.getCause();
            if (cause != null && Failure.unwrapped(cause) instanceof LockStoreException reason) {
                throw reason;
            }
            throw new StoreUnavailableException("cannot connect to " + server + ": " + cause, e);
        } finally {
            patience.cancel();
        }
    }
}
