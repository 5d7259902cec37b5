package io.leasehold.redis.topology;

import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one connection on which a server tells a client something: made when it is first needed, and again whenever it ends.
 *
 * <p>What the server would have told meanwhile is lost. A connection whose peer is gone without a word is found by {@link SignsOfLife}.
 * State is guarded by {@code this}; listeners are called outside of it.
 */
final class LastingConnection<C extends LiveConnection> {

    private static final Logger LOG = LoggerFactory.getLogger(LastingConnection.class);

    /** A missing right is not granted within a second; meanwhile the server's ACL log stays short. */
    private static final long REFUSED_NANOS = 60_000_000_000L;

    private final Making<C> making;
    private final Connections.Locator locator;
    private final String purpose;
    private final SubscriptionRefusals refusals;
    private final RedisErrors errors;
    private final LockRuntime runtime;
    private volatile Runnable onBegun = () -> {};
    private volatile Runnable onBegunAgain = () -> {};
    private volatile Runnable onEnded = () -> {};

    private final CompletableFuture<Boolean> firstTry = new CompletableFuture<>();
    private volatile @Nullable C current;
    private volatile @Nullable RedisUri place;
    private boolean started;
    private int failures;
    /** How often all was left: what was begun before is not taken over any more. */
    private int leaves;

    private boolean closed;

    /** How such a connection is made. */
    interface Making<C> {
        /** Connects. */
        CompletableFuture<C> connect(RedisUri server);

        /** Asks the server to tell what this is for. */
        CompletableFuture<Void> begin(C connection);

        /**
         * Whether a failure is a refusal that does not pass soon, though no right is missing: it is warned of, and one to connect is
         * tried again after a minute only, as one to begin is in any case.
         *
         * @param before how many failed in a row before it
         */
        default boolean isRefusal(Failure failure, int before) {
            return false;
        }
    }

    /**
     * A connection that is not made yet.
     *
     * @param locator says where the server is, each time anew
     * @param purpose what the server tells, for messages
     */
    LastingConnection(
            Making<C> making, Connections.Locator locator, String purpose, RedisErrors errors, LockRuntime runtime) {
        this.making = making;
        this.locator = locator;
        this.purpose = purpose;
        this.errors = errors;
        this.refusals = new SubscriptionRefusals(purpose, errors);
        this.runtime = runtime;
    }

    /** Registers the listener for each beginning. */
    void onBegun(Runnable listener) {
        onBegun = listener;
    }

    /** Registers the listener for each beginning but the first try's. */
    void onBegunAgain(Runnable listener) {
        onBegunAgain = listener;
    }

    /** Registers the listener for each end that follows a beginning. */
    void onEnded(Runnable listener) {
        onEnded = listener;
    }

    /** The connection on which the server tells, or null while there is none. */
    @Nullable
    C current() {
        C connection = current;
        return connection != null && connection.isOpen() ? connection : null;
    }

    /** Begins to connect; completes with whether the server tells, after the first try at the latest. */
    CompletableFuture<Boolean> started() {
        synchronized (this) {
            if (started || closed) {
                return firstTry.isDone() || closed
                        ? CompletableFuture.completedFuture(current() != null)
                        : firstTry.copy();
            }
            started = true;
        }
        connect();
        return firstTry.copy();
    }

    private void connect() {
        int begun;
        synchronized (this) {
            if (closed) {
                return;
            }
            begun = leaves;
        }
        located()
                .thenCompose(server -> {
                    place = server;
                    return making.connect(server);
                })
                .whenComplete((connection, error) -> connected(begun, connection, error));
    }

    /** A locator that throws has failed as one that says so: the next try is not lost with it. */
    private CompletableFuture<RedisUri> located() {
        try {
            return locator.locate();
        } catch (RuntimeException | Error e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private void connected(int begun, @Nullable C connection, @Nullable Throwable error) {
        if (connection == null) {
            notConnected(begun, refusals.of(error == null ? new IllegalStateException("no connection") : error));
            return;
        }
        // Who accepts a connection and then says nothing is tried again.
        LockRuntime.Timer patience = runtime.schedule(Connections.PATIENCE_NANOS, connection::close);
        asked(connection).whenComplete((done, refusal) -> {
            patience.cancel();
            if (refusal != null) {
                connection.close();
                notAsked(refusals.of(refusal));
            } else {
                adopt(begun, connection);
            }
        });
    }

    /** A login that is refused is tried again soon: the password may be about to change. */
    private void notConnected(int begun, Failure failure) {
        int before;
        boolean wasLeft;
        synchronized (this) {
            before = failures;
            wasLeft = begun != leaves;
        }
        firstTry.complete(false);
        // A failure at a place that was left in the meantime says nothing about the place of today.
        if (!wasLeft && making.isRefusal(failure, before)) {
            refusals.warn(failure);
            retryAfter(REFUSED_NANOS);
        } else {
            retryLater();
        }
    }

    private void notAsked(Failure failure) {
        firstTry.complete(false);
        if (making.isRefusal(failure, 0)) {
            refusals.warn(failure);
        }
        if (failure.kind() == FailureKind.PERMANENT) {
            retryAfter(REFUSED_NANOS);
        } else {
            retryLater();
        }
    }

    /** A driver that throws has failed as one that says so. */
    private CompletableFuture<Void> asked(C connection) {
        try {
            return making.begin(connection);
        } catch (RuntimeException | Error e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private void adopt(int begun, C connection) {
        boolean isWanted;
        synchronized (this) {
            isWanted = !closed && begun == leaves;
            if (isWanted) {
                current = connection;
                failures = 0;
            }
        }
        if (!isWanted) {
            connection.close();
            firstTry.complete(false);
            retryLater();
            return;
        }
        connection.onEnd(() -> lost(connection));
        if (!connection.isOpen()) {
            lost(connection);
        }
        if (current == connection) {
            onBegun.run();
        }
        SignsOfLife.watch(connection, runtime, errors, () -> !isClosed() && current == connection, connection::close);
        if (!firstTry.complete(true)) {
            LOG.info("subscribed to {} again", purpose);
            onBegunAgain.run();
        }
        // It may have moved while this was under way.
        leaveUnlessStillThere();
    }

    private void lost(C connection) {
        synchronized (this) {
            if (current != connection) {
                return;
            }
            current = null;
        }
        connection.close();
        onEnded.run();
        if (!isClosed()) {
            LOG.info("subscription to {} ended; subscribing again", purpose);
            retryLater();
        }
    }

    /** The server may be elsewhere now: what it tells is not heard at the former place. */
    void leaveUnlessStillThere() {
        C connection = current;
        if (connection != null && !isStillThere()) {
            connection.close();
        }
    }

    /** There may be another server at the same place now: leaves the one that tells, and those that are being made. */
    void leave() {
        C connection;
        synchronized (this) {
            leaves++;
            failures = 0;
            connection = current;
        }
        if (connection != null) {
            connection.close();
        }
    }

    private boolean isStillThere() {
        RedisUri server = place;
        return server == null || locator.isStill(server);
    }

    private void retryLater() {
        int before;
        synchronized (this) {
            if (closed) {
                return;
            }
            before = failures++;
        }
        retryAfter(Retry.delayNanos(before, runtime));
    }

    private void retryAfter(long nanos) {
        runtime.schedule(nanos, this::connect);
    }

    private synchronized boolean isClosed() {
        return closed;
    }

    /** Makes no more connections; the last one ends with the driver. */
    void close() {
        synchronized (this) {
            closed = true;
            current = null;
        }
        firstTry.complete(false);
    }
}
