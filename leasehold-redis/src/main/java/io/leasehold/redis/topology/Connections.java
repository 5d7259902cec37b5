package io.leasehold.redis.topology;

import io.leasehold.LockStoreException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionException;
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
final class Connections implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Connections.class);

    private static final int FIRST_TRIES = 20;
    private static final long FIRST_PAUSE_NANOS = 5_000_000L;
    private static final long ANSWER_NANOS = 3_000_000_000L;

    /**
     * A try to connect again that takes longer gets company, and whichever succeeds first counts: a connection may be slow, or
     * have been begun a moment too early. With the longest pause between tries it is less than 2 s, so that soon after the
     * server answers again one is under way that succeeds.
     */
    static final long PATIENCE_NANOS = 1_000_000_000L;

    private final Driver driver;
    private final Locator locator;
    private final Expectation expectation;
    private final String name;
    private final RedisErrors errors;
    private final LockRuntime runtime;
    private volatile @Nullable Link current;
    private volatile @Nullable LockStoreException failure;
    private volatile Runnable onReconnected = () -> {};
    private volatile Runnable onLost = () -> {};
    private CompletableFuture<Link> next = new CompletableFuture<>();
    private int failures;
    /** Numbers the links that are tried for: what else comes of tries for one that was made or given up is dropped. */
    private int wanted;

    private int tries;
    /** Where the latest of them leads. */
    private @Nullable RedisUri trying;

    private boolean closed;

    /**
     * Connections to one server; none is made yet.
     *
     * @param locator says where the server is, each time anew
     * @param expectation what it has to be
     * @param name as people would name it
     */
    Connections(
            Driver driver,
            Locator locator,
            Expectation expectation,
            String name,
            RedisErrors errors,
            LockRuntime runtime) {
        this.driver = driver;
        this.locator = locator;
        this.expectation = expectation;
        this.name = name;
        this.errors = errors;
        this.runtime = runtime;
    }

    /** Says where to connect to. */
    interface Locator {
        /** Fails with a {@link LockStoreException} that says why it is not known. */
        CompletableFuture<RedisUri> locate();

        /** Whether what was located once is still a place to be. */
        default boolean isStill(RedisUri server) {
            return true;
        }

        /** Always there. */
        static Locator fixed(RedisUri server) {
            return () -> CompletableFuture.completedFuture(server);
        }
    }

    /** Who is told of every link but the first. */
    void onReconnected(Runnable listener) {
        onReconnected = listener;
    }

    /** Who is told of the end of each link, unless we are closed. */
    void onLost(Runnable listener) {
        onLost = listener;
    }

    /** The live link, or null while there is none. */
    @Nullable
    Link current() {
        Link link = current;
        return link != null && link.isOpen() ? link : null;
    }

    /** The live link, or the next one that is made; fails if the next try to make it fails. */
    synchronized CompletableFuture<Link> next() {
        Link link = current();
        return link != null ? CompletableFuture.completedFuture(link) : next.copy();
    }

    /** Why there is no link, if that is known. */
    @Nullable
    LockStoreException failure() {
        return failure;
    }

    /**
     * Makes the first link.
     *
     * @return fails with a {@link LockStoreException} that says why there is none
     */
    CompletableFuture<Link> open() {
        return connect()
                .thenApply(link -> {
                    String refusal = expectation.refusalOfRole(link.address(), link.facts());
                    if (refusal != null) {
                        link.close();
                        throw new UnsafeStoreException(refusal, null);
                    }
                    adopt(link);
                    return link;
                })
                .whenComplete((link, error) -> {
                    if (error != null) {
                        failedTo(Failure.unwrapped(error));
                    }
                });
    }

    /** No link could be made; whoever waits for it is told. */
    private LockStoreException failedTo(Throwable cause) {
        LockStoreException reason = cause instanceof LockStoreException known ? known : explained(cause);
        CompletableFuture<Link> waited;
        synchronized (this) {
            failure = reason;
            waited = next;
            next = new CompletableFuture<>();
        }
        waited.completeExceptionally(reason);
        return reason;
    }

    /** After a first link could not be made: goes on trying. */
    void keepTrying() {
        reconnectLater();
    }

    private CompletableFuture<Link> connect() {
        return locator.locate().thenCompose(server -> {
            synchronized (this) {
                trying = server;
            }
            return connect(server);
        });
    }

    private CompletableFuture<Link> connect(RedisUri server) {
        return opened(server)
                .handle((connection, error) -> {
                    if (error != null) {
                        return CompletableFuture.<Link>failedFuture(explained(error));
                    }
                    // Who accepts a connection and then says nothing is tried again.
                    LockRuntime.Timer patience = runtime.schedule(ANSWER_NANOS, () -> driver.end(connection));
                    return info(connection, FIRST_TRIES)
                            .handle((info, refusal) -> {
                                patience.cancel();
                                if (refusal != null) {
                                    driver.end(connection);
                                    return CompletableFuture.<Link>failedFuture(
                                            errors.of(refusal, "read INFO").error());
                                }
                                return withAcknowledgements(connection, server, info);
                            })
                            .thenCompose(f -> f);
                })
                .thenCompose(f -> f);
    }

    /**
     * A connection. Where a handshake with a password is refused, the driver closes the connection on one thread and tells the
     * reason on another, and may tell the end in place of the reason: then it is asked once more.
     */
    private CompletableFuture<StatefulRedisConnection<String, String>> opened(RedisUri server) {
        return driver.connect(server)
                .handle((connection, error) -> {
                    if (error == null) {
                        return CompletableFuture.completedFuture(connection);
                    }
                    Throwable root = error;
                    while (root.getCause() != null) {
                        root = root.getCause();
                    }
                    return root instanceof RedisConnectionException
                            ? driver.connect(server)
                            : CompletableFuture.<StatefulRedisConnection<String, String>>failedFuture(error);
                })
                .thenCompose(f -> f);
    }

    /**
     * The first command of a connection. Where the handshake has a password it may end on a thread of its own, and the driver
     * then tells of the connection a moment before it takes commands.
     */
    private CompletableFuture<String> info(StatefulRedisConnection<String, String> connection, int tries) {
        return connection
                .async()
                .info()
                .toCompletableFuture()
                .handle((info, refusal) -> {
                    if (refusal == null || tries <= 1 || !RedisErrors.isNotConnected(refusal)) {
                        return refusal == null
                                ? CompletableFuture.completedFuture(info)
                                : CompletableFuture.<String>failedFuture(refusal);
                    }
                    CompletableFuture<Void> moment = new CompletableFuture<>();
                    runtime.schedule(FIRST_PAUSE_NANOS, () -> moment.complete(null));
                    return moment.thenCompose(done -> info(connection, tries - 1));
                })
                .thenCompose(next -> next);
    }

    /** Where replicas are waited for, a second connection belongs to the link. */
    private CompletableFuture<Link> withAcknowledgements(
            StatefulRedisConnection<String, String> connection, RedisUri server, String info) {
        if (!server.acknowledgement().isWanted()) {
            return checked(connection, null, server, info);
        }
        return driver.connect(server)
                .thenCompose(second -> second.async()
                        .waitForReplication(0, 1)
                        .toCompletableFuture()
                        .thenCompose(ready -> {
                            second.addListener(new RedisConnectionStateListener() {
                                @Override
                                public void onRedisDisconnected(RedisChannelHandler<?, ?> ended) {
                                    driver.end(connection);
                                }
                            });
                            return checked(
                                    connection,
                                    new GroupCommit(second, driver, server.acknowledgement()),
                                    server,
                                    info);
                        })
                        .whenComplete((link, error) -> {
                            if (error != null) {
                                driver.end(second);
                            }
                        }))
                .handle((link, error) -> {
                    if (error == null) {
                        return CompletableFuture.completedFuture(link);
                    }
                    driver.end(connection);
                    Throwable cause = Failure.unwrapped(error);
                    return CompletableFuture.<Link>failedFuture(
                            cause instanceof LockStoreException
                                    ? cause
                                    : errors.of(cause, "wait for replicas (WAIT)")
                                            .error());
                })
                .thenCompose(f -> f);
    }

    private CompletableFuture<Link> checked(
            StatefulRedisConnection<String, String> connection,
            @Nullable GroupCommit acknowledged,
            RedisUri server,
            String info) {
        try {
            ServerFacts facts = ServerFacts.parse(info);
            expectation.refuseUnfit(server, facts);
            Link link = new Link(connection, acknowledged, driver, server, facts, runtime);
            connection.addListener(new RedisConnectionStateListener() {
                @Override
                public void onRedisDisconnected(RedisChannelHandler<?, ?> ended) {
                    link.close();
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

    private LockStoreException explained(Throwable thrown) {
        Throwable cause = Failure.unwrapped(thrown);
        for (Throwable t = cause; t != null; t = t.getCause()) {
            if (t instanceof LockStoreException known) {
                // There are no credentials to log in with.
                return known;
            }
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
        CompletableFuture<Link> waited;
        synchronized (this) {
            failures = 0;
            failure = null;
            if (!closed) {
                current = link;
            }
            waited = next;
            next = new CompletableFuture<>();
        }
        waited.complete(link);
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
            onLost.run();
            LOG.info("connection to {} ended; connecting again", name);
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
        int number;
        synchronized (this) {
            number = wanted;
        }
        tryFor(number);
    }

    /** One more try for this link, unless it has been made or given up meanwhile. */
    private void tryFor(int number) {
        synchronized (this) {
            if (closed || number != wanted) {
                return;
            }
            tries++;
        }
        LockRuntime.Timer company = runtime.schedule(PATIENCE_NANOS, () -> tryFor(number));
        connect().whenComplete((link, error) -> {
            company.cancel();
            reconnected(number, link, error);
        });
    }

    private void reconnected(int number, @Nullable Link link, @Nullable Throwable error) {
        boolean last;
        synchronized (this) {
            if (number != wanted) {
                if (link != null) {
                    link.close();
                }
                return;
            }
            tries--;
            last = tries == 0;
            if (link != null) {
                giveUpTries();
            }
        }
        if (link == null) {
            LockStoreException reason =
                    failedTo(error == null ? new IllegalStateException("no link") : Failure.unwrapped(error));
            LOG.debug("still not connected: {}", reason.getMessage());
            if (last) {
                reconnectLater();
            }
            return;
        }
        adopt(link);
        if (!isClosed()) {
            LOG.info("connected to {} again", name);
            onReconnected.run();
        }
    }

    /** Called by whoever holds {@code this}. */
    private void giveUpTries() {
        wanted++;
        tries = 0;
    }

    /** The server is here now: a link to another place is ended, and a try to make one is given up for a new one. */
    void leaveUnlessAt(RedisUri server) {
        Link link = current();
        if (link != null) {
            if (!link.address().address().equals(server.address())) {
                link.close();
            }
            return;
        }
        synchronized (this) {
            RedisUri elsewhere = trying;
            if (tries == 0 || elsewhere == null || elsewhere.address().equals(server.address())) {
                return;
            }
            giveUpTries();
        }
        reconnect();
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

    /** Ends the present link too: the server is not asked any more. */
    void retire() {
        Link link = current;
        close();
        if (link != null) {
            link.close();
        }
    }
}
