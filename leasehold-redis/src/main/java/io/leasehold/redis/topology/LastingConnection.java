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
 * The one connection on which a server notifies a client. It is made when it is first needed, and again after each end.
 *
 * <p>Notifications are lost while no connection exists. {@link SignsOfLife} detects a peer that has silently gone.
 * State is guarded by {@code this}; listeners are called outside of it.
 */
final class LastingConnection<C extends LiveConnection> {

    private static final Logger LOG = LoggerFactory.getLogger(LastingConnection.class);

    /**
     * The pause after a refusal: an operator does not grant a missing right within a second, and the pause keeps the
     * server's ACL log short.
     */
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
    /** The number of calls of {@link #leave}: a connection that was begun before the last one is not used. */
    private int leaves;
    /** Identifies the try after a refusal by the present server, or null if none is scheduled. */
    private @Nullable Object afterRefusal;

    private boolean closed;

    /** Makes such a connection. */
    interface Making<C> {
        /** Connects. */
        CompletableFuture<C> connect(RedisUri server);

        /** Requests the notifications. */
        CompletableFuture<Void> begin(C connection);

        /**
         * Whether a failure is a lasting refusal, although no right is missing. Such a refusal is logged as a warning.
         * If the connection itself was refused, the next try follows only after a minute, as it does after any
         * permanent refusal of the notifications.
         *
         * @param before the number of failures in a row before this one
         */
        default boolean isRefusal(Failure failure, int before) {
            return false;
        }
    }

    /**
     * Creates the object; no connection is made yet.
     *
     * @param locator finds the address of the server before each connection
     * @param purpose the subject of the notifications, for messages
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

    /** Registers the listener for each start of the notifications. */
    void onBegun(Runnable listener) {
        onBegun = listener;
    }

    /** Registers the listener for each start of the notifications, except one in the first try. */
    void onBegunAgain(Runnable listener) {
        onBegunAgain = listener;
    }

    /** Registers the listener for each end of the notifications after a start. */
    void onEnded(Runnable listener) {
        onEnded = listener;
    }

    /** The connection with notifications, or null while none exists. */
    @Nullable
    C current() {
        C connection = current;
        return connection != null && connection.isOpen() ? connection : null;
    }

    /**
     * Starts to connect. The future completes after the first try at the latest, and says whether notifications arrive.
     */
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

    /** Converts an exception of the locator to a failure, so that the next try follows. */
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
        // If a server accepts the connection and then does not answer, the next try follows.
        LockRuntime.Timer patience = runtime.schedule(Connections.PATIENCE_NANOS, connection::close);
        asked(connection).whenComplete((done, refusal) -> {
            patience.cancel();
            if (refusal != null) {
                connection.close();
                notAsked(begun, refusals.of(refusal));
            } else {
                adopt(begun, connection);
            }
        });
    }

    /** Retries. A refused login is retried soon, since the password may be about to change. */
    private void notConnected(int begun, Failure failure) {
        int before;
        boolean wasLeft;
        synchronized (this) {
            before = failures;
            wasLeft = begun != leaves;
        }
        firstTry.complete(false);
        // A failure at a server that was left in the meantime says nothing about the present one.
        if (!wasLeft && making.isRefusal(failure, before)) {
            refusals.warn(failure);
            retryAfterRefusal(begun);
        } else {
            retryLater();
        }
    }

    private void notAsked(int begun, Failure failure) {
        boolean wasLeft;
        synchronized (this) {
            wasLeft = begun != leaves;
        }
        firstTry.complete(false);
        if (!wasLeft && making.isRefusal(failure, 0)) {
            refusals.warn(failure);
        }
        if (!wasLeft && failure.kind() == FailureKind.PERMANENT) {
            retryAfterRefusal(begun);
        } else {
            retryLater();
        }
    }

    /** Converts an exception of the driver to a failure. */
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
        // The server may have moved in the meantime.
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

    /** Closes the connection if the server has moved: its notifications do not arrive at the former address. */
    void leaveUnlessStillThere() {
        C connection = current;
        if (connection != null && !isStillThere()) {
            connection.close();
        }
    }

    /**
     * Leaves the server because another one may have its address now: closes the connection, and drops any that is
     * being made.
     */
    void leave() {
        C connection;
        boolean wasRefused;
        synchronized (this) {
            leaves++;
            failures = 0;
            connection = current;
            wasRefused = afterRefusal != null;
            afterRefusal = null;
        }
        if (connection != null) {
            connection.close();
        }
        if (wasRefused) {
            // By the server that was left.
            retryLater();
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

    private void retryAfterRefusal(int begun) {
        Object next = new Object();
        boolean wasLeft;
        synchronized (this) {
            wasLeft = begun != leaves;
            afterRefusal = wasLeft ? null : next;
        }
        if (wasLeft) {
            retryLater();
            return;
        }
        runtime.schedule(REFUSED_NANOS, () -> {
            boolean isDue;
            synchronized (this) {
                isDue = afterRefusal == next;
                if (isDue) {
                    afterRefusal = null;
                }
            }
            if (isDue) {
                connect();
            }
        });
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
