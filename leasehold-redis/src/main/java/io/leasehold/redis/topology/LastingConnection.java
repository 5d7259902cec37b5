package io.leasehold.redis.topology;

import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one connection on which a server sends notifications to a client. It is made at the first use and again after
 * each end.
 *
 * <p>Notifications of the time in between are lost. {@link SignsOfLife} detects a connection whose peer has silently
 * gone. State is guarded by {@code this}; listeners are called outside of it.
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
    private boolean closed;

    /** Makes such connections. */
    interface Making<C> {
        /** Connects to the server. */
        CompletableFuture<C> connect(RedisUri server);

        /** Requests the notifications from the server. */
        CompletableFuture<Void> begin(C connection);
    }

    /**
     * Creates the object; the connection is not made yet.
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

    /** Registers the listener for each start of the notifications, except a success of the first try. */
    void onBegunAgain(Runnable listener) {
        onBegunAgain = listener;
    }

    /** Registers the listener for each end of the notifications. */
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
        if (isClosed()) {
            return;
        }
        locator.locate()
                .thenCompose(server -> {
                    place = server;
                    return making.connect(server);
                })
                .whenComplete(this::connected);
    }

    private void connected(@Nullable C connection, @Nullable Throwable error) {
        if (connection == null) {
            Failure failure = refusals.of(error == null ? new IllegalStateException("no connection") : error);
            firstTry.complete(false);
            // Retry a refused login soon: the password may be about to change.
            retryLater(isForGood(failure.error()) ? failure : null);
            return;
        }
        // If a server accepts a connection and then does not answer, try again.
        LockRuntime.Timer patience = runtime.schedule(Connections.PATIENCE_NANOS, connection::close);
        begun(connection).whenComplete((done, refusal) -> {
            patience.cancel();
            if (refusal != null) {
                connection.close();
                Failure failure = refusals.of(refusal);
                firstTry.complete(false);
                retryLater(failure);
            } else {
                adopt(connection);
            }
        });
    }

    private static boolean isForGood(LockStoreException refusal) {
        return !(refusal instanceof StoreAccessException);
    }

    /** Requests the notifications, and converts an exception of the driver to a failed future. */
    private CompletableFuture<Void> begun(C connection) {
        try {
            return making.begin(connection);
        } catch (RuntimeException | Error e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private void adopt(C connection) {
        synchronized (this) {
            if (closed) {
                connection.close();
                return;
            }
            current = connection;
            failures = 0;
        }
        connection.onEnd(() -> lost(connection));
        if (!connection.isOpen()) {
            lost(connection);
        }
        SignsOfLife.watch(connection, runtime, errors, () -> !isClosed() && current == connection, connection::close);
        onBegun.run();
        if (!firstTry.complete(true)) {
            LOG.info("subscribed to {} again", purpose);
            onBegunAgain.run();
        }
        // The server may have moved meanwhile.
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
            retryLater(null);
        }
    }

    /** Closes the connection if the server has moved: its notifications do not arrive at the former address. */
    void leaveUnlessStillThere() {
        C connection = current;
        if (connection != null && !isStillThere()) {
            connection.close();
        }
    }

    private boolean isStillThere() {
        RedisUri server = place;
        return server == null || locator.isStill(server);
    }

    private void retryLater(@Nullable Failure refusal) {
        if (refusal != null && refusal.kind() == FailureKind.PERMANENT) {
            runtime.schedule(REFUSED_NANOS, this::connect);
            return;
        }
        int before;
        synchronized (this) {
            if (closed) {
                return;
            }
            before = failures++;
        }
        runtime.schedule(Retry.delayNanos(before, runtime), this::connect);
    }

    private synchronized boolean isClosed() {
        return closed;
    }

    /** Makes no more connections; the driver closes the last one. */
    void close() {
        synchronized (this) {
            closed = true;
            current = null;
        }
        firstTry.complete(false);
    }
}
