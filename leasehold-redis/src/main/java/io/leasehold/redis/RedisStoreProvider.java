package io.leasehold.redis;

import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.ballot.SingleNodeStore;
import io.leasehold.redis.node.DurabilityCheck;
import io.leasehold.redis.node.EfficiencyStore;
import io.leasehold.redis.node.NodeSettings;
import io.leasehold.redis.node.RedisNode;
import io.leasehold.redis.store.RedisGuarantees;
import io.leasehold.redis.topology.Connections;
import io.leasehold.redis.topology.Driver;
import io.leasehold.redis.topology.Link;
import io.leasehold.redis.topology.RedisUri;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreProvider;
import io.leasehold.spi.StoreUri;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Opens stores in a single Redis or Valkey server: {@code redis://} and, over TLS, {@code rediss://}. */
public final class RedisStoreProvider implements StoreProvider {

    private static final Logger LOG = LoggerFactory.getLogger(RedisStoreProvider.class);
    private static final long OPEN_NANOS = TimeUnit.SECONDS.toNanos(5);

    /** For {@link java.util.ServiceLoader}. */
    public RedisStoreProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("redis", "rediss");
    }

    @Override
    public LockStore open(StoreUri uri, LockRuntime runtime) {
        return new SingleNodeStore(openNode(uri, runtime), runtime);
    }

    /** One server as a node, connected. */
    RedisNode openNode(StoreUri uri, LockRuntime runtime) {
        RedisUri server = RedisUri.parse(uri);
        return openNode(server, new Driver(server), runtime);
    }

    /** One server as a node, over a driver that is closed with it. */
    static RedisNode openNode(RedisUri server, Driver driver, LockRuntime runtime) {
        RedisErrors errors = new RedisErrors(server.toString(), server.keys());
        Connections connections = new Connections(driver, server, errors, runtime);
        try {
            Link link = await(connections.open(), runtime, server);
            DurabilityCheck durability = await(DurabilityCheck.of(link), runtime, server);
            warn(server, durability);
            NodeSettings settings = NodeSettings.standard(RedisGuarantees.single(durability.durable()))
                    .keys(server.keys());
            return new RedisNode(server, settings, driver, connections, runtime);
        } catch (RuntimeException e) {
            connections.close();
            driver.close();
            throw e;
        }
    }

    /** One server for locks without fence and queue, over a driver that is closed with it. */
    static EfficiencyStore openPlain(RedisUri server, Driver driver, LockRuntime runtime) {
        RedisErrors errors = new RedisErrors(server.toString(), server.keys());
        Connections connections = new Connections(driver, server, errors, runtime);
        try {
            await(connections.open(), runtime, server);
            EfficiencyStore store = new EfficiencyStore(server.toString(), server.keys(), driver, connections, runtime);
            await(store.detect(), runtime, server);
            return store;
        } catch (RuntimeException e) {
            connections.close();
            driver.close();
            throw e;
        }
    }

    private static void warn(RedisUri server, DurabilityCheck durability) {
        if (durability.evicting() != null) {
            LOG.warn(
                    "{} has maxmemory-policy {}: it may drop held locks when its memory is full; set noeviction",
                    server,
                    durability.evicting());
        }
    }

    private static <T> T await(CompletableFuture<T> future, LockRuntime runtime, RedisUri server) {
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
            if (cause != null && RedisErrors.unwrapped(cause) instanceof LockStoreException reason) {
                throw reason;
            }
            throw new StoreUnavailableException("cannot connect to " + server + ": " + cause, e);
        } finally {
            patience.cancel();
        }
    }
}
