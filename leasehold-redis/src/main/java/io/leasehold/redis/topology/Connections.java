package io.leasehold.redis.topology;

import io.leasehold.LockStoreException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.api.StatefulRedisConnection;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps one {@link Link} to a server: makes it, and, when it ends, the next one.
 *
 * <p>Every link begins with {@code INFO}, so that its run id is known before its first request. A process life
 * has one run id, and a connection leads to one process, so the run id of a link cannot change; reading it in every
 * script instead would cost each acquire 3 µs of the server's time. (A proxy that changes servers under an open
 * connection breaks this; nothing on which exclusion depends is derived from it at a single node.)
 *
 * <p>State is guarded by {@code this}; listeners are called outside of it.
 */
public final class Connections implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Connections.class);

    private final Driver driver;
    private final RedisUri uri;
    private final RedisErrors errors;
    private final LockRuntime runtime;
    private volatile @Nullable Link current;
    private volatile @Nullable LockStoreException failure;
    private volatile Runnable onReconnected = () -> {};
    private int failures;
    private boolean closed;

    /** Connections to one server; none is made yet. */
    public Connections(Driver driver, RedisUri uri, RedisErrors errors, LockRuntime runtime) {
        this.driver = driver;
        this.uri = uri;
        this.errors = errors;
        this.runtime = runtime;
    }

    /** Who is told of every link but the first. */
    public void onReconnected(Runnable listener) {
        onReconnected = listener;
    }

    /** The live link, or null while there is none. */
    public @Nullable Link current() {
        Link link = current;
        return link != null && link.isOpen() ? link : null;
    }

    /** Why there is no link, if that is known. */
    public @Nullable LockStoreException failure() {
        return failure;
    }

    /**
     * Makes the first link.
     *
     * @return fails with a {@link LockStoreException} that says why there is none
     */
    public CompletableFuture<Link> open() {
        return connect().thenApply(link -> {
            if (link.isToReplica()) {
                link.close();
                throw new UnsafeStoreException(uri + " is a replica, which takes no writes; name its primary", null);
            }
            adopt(link);
            return link;
        });
    }

    /** After a first link could not be made: goes on trying. */
    public void keepTrying() {
        reconnectLater();
    }

    private CompletableFuture<Link> connect() {
        return driver.connect()
                .handle((connection, error) -> {
                    if (error != null) {
                        return CompletableFuture.<Link>failedFuture(explained(error));
                    }
                    return connection
                            .async()
                            .info()
                            .toCompletableFuture()
                            .handle((info, refusal) -> {
                                if (refusal != null) {
                                    driver.end(connection);
                                    return CompletableFuture.<Link>failedFuture(
                                            errors.of(refusal, "read INFO").error());
                                }
                                return checked(connection, info);
                            })
                            .thenCompose(f -> f);
                })
                .thenCompose(f -> f);
    }

    private CompletableFuture<Link> checked(StatefulRedisConnection<String, String> connection, String info) {
        try {
            ServerFacts facts = ServerFacts.parse(info);
            refuseUnfit(facts);
            Link link = new Link(connection, driver, facts, runtime);
            connection.addListener(new RedisConnectionStateListener() {
                @Override
                public void onRedisDisconnected(RedisChannelHandler<?, ?> ended) {
                    lost(link);
                }
            });
            return CompletableFuture.completedFuture(link);
        } catch (RuntimeException e) {
            driver.end(connection);
            LockStoreException reason = e instanceof LockStoreException known
                    ? known
                    : errors.unavailable("does not answer like a Redis server: " + e.getMessage(), e);
            return CompletableFuture.failedFuture(reason);
        }
    }

    private void refuseUnfit(ServerFacts facts) {
        if (facts.mode().equals("cluster")) {
            throw new UnsafeStoreException(
                    uri + " is a member of a Redis Cluster, of which it knows only a part of the keys; name it as"
                            + " redis-cluster://" + uri.address(),
                    null);
        }
        if (facts.mode().equals("sentinel")) {
            throw new UnsafeStoreException(
                    uri + " is a Sentinel, which keeps no keys; name it as redis-sentinel://" + uri.address()
                            + "/NAME-OF-THE-MASTER",
                    null);
        }
        if (!facts.isRecentEnough()) {
            throw new UnsafeStoreException(
                    uri + " runs Redis " + facts.version() + "; Leasehold needs 6.2 or newer", null);
        }
    }

    private LockStoreException explained(Throwable thrown) {
        Throwable cause = RedisErrors.unwrapped(thrown);
        for (Throwable t = cause; t != null; t = t.getCause()) {
            if (t instanceof RedisCommandExecutionException) {
                return errors.of(t, "log in").error();
            }
        }
        Throwable root = cause;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        String reason = root.getMessage() == null ? root.getClass().getSimpleName() : root.getMessage();
        return errors.unavailable(
                "cannot be reached: " + reason.lines().findFirst().orElse("") + ". Is a Redis server running there, and"
                        + " does the store URI name its host and port?",
                cause);
    }

    private void adopt(Link link) {
        synchronized (this) {
            failures = 0;
            failure = null;
            if (!closed) {
                current = link;
            }
        }
        if (isClosed()) {
            link.close();
        } else if (!link.isOpen()) {
            // It ended before its end could be noticed.
            lost(link);
        }
    }

    private void lost(Link link) {
        synchronized (this) {
            if (current != link) {
                return;
            }
            current = null;
            failure = errors.unavailable("closed the connection", null);
        }
        link.close();
        if (!isClosed()) {
            LOG.info("connection to {} ended; connecting again", uri);
            reconnectLater();
        }
    }

    private void reconnectLater() {
        int before;
        synchronized (this) {
            if (closed) {
                return;
            }
            before = failures++;
        }
        runtime.schedule(Retry.delayNanos(before, runtime), this::reconnect);
    }

    private void reconnect() {
        if (isClosed()) {
            return;
        }
        connect().whenComplete((link, error) -> {
            if (error != null) {
                Throwable cause = RedisErrors.unwrapped(error);
                LockStoreException reason = cause instanceof LockStoreException known ? known : explained(cause);
                failure = reason;
                LOG.debug("still not connected: {}", reason.getMessage());
                reconnectLater();
                return;
            }
            adopt(link);
            if (!isClosed()) {
                LOG.info("connected to {} again", uri);
                onReconnected.run();
            }
        });
    }

    private synchronized boolean isClosed() {
        return closed;
    }

    /** Makes no more links; the last one ends with the driver. */
    @Override
    public synchronized void close() {
        closed = true;
        current = null;
    }
}
