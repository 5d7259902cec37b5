package io.leasehold.redis.topology;

import io.leasehold.LockStoreException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps one {@link Link} to a server: makes it, and, when it ends, the next one.
 *
 * <p>State is guarded by {@code this}; listeners are called outside of it.
 */
final class Connections implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Connections.class);

    /**
     * A try to connect again that takes longer gets company, and whichever succeeds first counts: a connection may be slow, or
     * have been begun a moment too early. With the longest pause between tries it is less than 2 s, so that soon after the
     * server answers again one is under way that succeeds.
     */
    static final long PATIENCE_NANOS = 1_000_000_000L;

    private final Handshake handshake;
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
    /** Numbers the tries, and what comes after one that failed: only the latest goes on, so that tries do not multiply. */
    private int turn;

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
        this.handshake = new Handshake(driver, expectation, errors, runtime, this::lost);
        this.locator = locator;
        this.expectation = expectation;
        this.name = name;
        this.errors = errors;
        this.runtime = runtime;
    }

    /** Finds the server to connect to. */
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

    /** Registers the listener for every link but the one that {@link #open} makes. */
    void onReconnected(Runnable listener) {
        onReconnected = listener;
    }

    /** Registers the listener for the end of each link, until these are closed. */
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
                    synchronized (this) {
                        giveUpTries();
                    }
                    adopt(link);
                    Link present = current();
                    return present == null ? link : present;
                })
                .whenComplete((link, error) -> {
                    if (error != null) {
                        failedTo(Failure.unwrapped(error));
                    }
                });
    }

    /** No link could be made; those that wait for it are told. */
    private LockStoreException failedTo(Throwable cause) {
        LockStoreException reason = cause instanceof LockStoreException known ? known : errors.unreachable(cause);
        CompletableFuture<Link> waited;
        synchronized (this) {
            failure = reason;
            waited = next;
            next = new CompletableFuture<>();
        }
        waited.completeExceptionally(reason);
        return reason;
    }

    /** After a first link was not made, or not in time: goes on trying, beside it. */
    void keepTrying() {
        reconnectLater();
    }

    /** Begins to make the first link in the background, and goes on until there is one: {@link #onReconnected} tells of it. */
    void begin() {
        reconnect();
    }

    private CompletableFuture<Link> connect() {
        return locator.locate().thenCompose(server -> {
            synchronized (this) {
                trying = server;
            }
            return handshake.with(server);
        });
    }

    private void adopt(Link link) {
        CompletableFuture<Link> waited;
        Link present;
        synchronized (this) {
            failures = 0;
            failure = null;
            // Another try, beside the first one, may have made it meanwhile.
            present = current();
            if (!closed && present == null) {
                current = link;
            }
            waited = next;
            next = new CompletableFuture<>();
        }
        waited.complete(present == null ? link : present);
        if (present != null || isClosed()) {
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
        int after;
        synchronized (this) {
            number = wanted;
            after = turn;
        }
        tryFor(number, after);
    }

    /** One more try for this link, unless it has been made or given up meanwhile, or another comes after this turn. */
    private void tryFor(int number, int after) {
        int mine;
        synchronized (this) {
            if (closed || number != wanted || after != turn) {
                return;
            }
            tries++;
            mine = ++turn;
        }
        LockRuntime.Timer company = runtime.schedule(PATIENCE_NANOS, () -> tryFor(number, mine));
        connect().whenComplete((link, error) -> {
            company.cancel();
            reconnected(number, mine, link, error);
        });
    }

    private void reconnected(int number, int mine, @Nullable Link link, @Nullable Throwable error) {
        int before = 0;
        int after = 0;
        boolean latest;
        synchronized (this) {
            if (number != wanted) {
                if (link != null) {
                    link.close();
                }
                return;
            }
            tries--;
            latest = mine == turn;
            if (link != null) {
                giveUpTries();
            } else if (latest) {
                before = failures++;
                after = ++turn;
            }
        }
        if (link == null) {
            LockStoreException reason =
                    failedTo(error == null ? new IllegalStateException("no link") : Failure.unwrapped(error));
            LOG.debug("still not connected: {}", reason.getMessage());
            if (latest) {
                // The others may hang for ever: their time limits are those of the user's client.
                int next = after;
                runtime.schedule(Retry.delayNanos(before, runtime), () -> tryFor(number, next));
            }
            return;
        }
        adopt(link);
        if (!isClosed()) {
            LOG.info("connected to {}", name);
            onReconnected.run();
        }
    }

    /** Called with {@code this} held. */
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
