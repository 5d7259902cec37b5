package io.leasehold.redis.topology;

import io.leasehold.LockStoreException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps one {@link Link} to a server: makes a link and, when it ends, the next one.
 *
 * <p>State is guarded by {@code this}; listeners are called outside of it.
 */
final class Connections implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Connections.class);

    /**
     * After this time a second try starts next to a try to reconnect, and the first success counts: a connection may be
     * slow, or may have started a moment too early. Together with the longest pause between tries, this is less than 2
     * s. Thus soon after the server answers again, a try is under way that succeeds.
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
    /**
     * The number of the link that tries are for. Results of tries for an earlier link, which was made or given up, are
     * dropped.
     */
    private int wanted;

    private int tries;
    /**
     * The number of the latest try or of the step after its failure. Only the latest one continues, so that tries do
     * not multiply.
     */
    private int turn;

    /** The server of the latest try. */
    private @Nullable RedisUri trying;

    private boolean closed;

    /**
     * Creates the connections to one server; none is made yet.
     *
     * @param locator finds the address of the server before each connection
     * @param expectation the required role of the server
     * @param name the name of the server, for messages
     */
    Connections(
            Driver driver,
            Locator locator,
            Expectation expectation,
            String name,
            RedisErrors errors,
            LockRuntime runtime) {
        this(driver, driver::connectForLink, locator, expectation, name, errors, runtime);
    }

    private Connections(
            Driver driver,
            Function<RedisUri, CompletableFuture<RedisConnection>> connecting,
            Locator locator,
            Expectation expectation,
            String name,
            RedisErrors errors,
            LockRuntime runtime) {
        this.handshake = new Handshake(driver, connecting, expectation, errors, runtime, this::lost);
        this.locator = locator;
        this.expectation = expectation;
        this.name = name;
        this.errors = errors;
        this.runtime = runtime;
    }

    /** The connections to a server for a question: its link shares nothing with other clients and soon ends. */
    static Connections forQuestion(
            Driver driver, RedisUri server, Expectation expectation, RedisErrors errors, LockRuntime runtime) {
        return new Connections(
                driver, driver::connect, Locator.fixed(server), expectation, server.toString(), errors, runtime);
    }

    /** Locates the server to connect to. */
    interface Locator {
        /** Locates the server; fails with a {@link LockStoreException} that says why the address is unknown. */
        CompletableFuture<RedisUri> locate();

        /** Whether a server that was located earlier is still a right one. */
        default boolean isStill(RedisUri server) {
            return true;
        }

        /** A locator that always returns this server. */
        static Locator fixed(RedisUri server) {
            return () -> CompletableFuture.completedFuture(server);
        }
    }

    /** Registers the listener for every link except the one that {@link #open} makes. */
    void onReconnected(Runnable listener) {
        onReconnected = listener;
    }

    /** Registers the listener for the end of each link before the close of this object. */
    void onLost(Runnable listener) {
        onLost = listener;
    }

    /** The live link, or null while none exists. */
    @Nullable
    Link current() {
        Link link = current;
        return link != null && link.isOpen() ? link : null;
    }

    /** The live link, or the next one that is made; fails if the next try fails. */
    synchronized CompletableFuture<Link> next() {
        Link link = current();
        return link != null ? CompletableFuture.completedFuture(link) : next.copy();
    }

    /** The reason why no link exists, or null if it is unknown. */
    @Nullable
    LockStoreException failure() {
        return failure;
    }

    /**
     * Makes the first link.
     *
     * @return fails with a {@link LockStoreException} that gives the reason
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

    /** Notes that no link could be made, and fails the callers that wait for it. */
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

    /** Keeps trying after the first try has failed or is late; a late first try may still succeed. */
    void keepTrying() {
        reconnectLater();
    }

    /**
     * Starts to make the first link in the background and retries until it exists; {@link #onReconnected} reports it.
     */
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
            // A concurrent try may have made the link meanwhile.
            present = current();
            if (!closed && present == null) {
                current = link;
            }
            waited = next;
            next = new CompletableFuture<>();
        }
        waited.complete(present == null ? link : present);
        if (present != null || isClosed()) {
            link.giveBack();
        } else if (!link.isOpen()) {
            // The link ended before the listener for its end could notice.
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

    /**
     * Starts one more try for this link, unless the link was made or given up meanwhile or another try follows this
     * turn.
     */
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
                    link.giveBack();
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
                // The other tries may hang forever: they have the time limits of the application's client.
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

    /** Gives up the current tries. The caller holds the monitor. */
    private void giveUpTries() {
        wanted++;
        tries = 0;
    }

    /**
     * Closes a link to any other address than this one, where the server is now. Replaces a try to reach another
     * address with a new try.
     */
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

    /** Makes no more links; the driver closes the last one. */
    @Override
    public synchronized void close() {
        closed = true;
        current = null;
    }

    /** Makes no more links and gives up the present one without a doubt about it: the server is no longer needed. */
    void retire() {
        Link link = current;
        close();
        if (link != null) {
            link.giveBack();
        }
    }
}
