package io.leasehold.redis.topology;

import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one subscription of a client to a node: a connection of its own, made when the first waiter needs it, and made
 * again whenever it ends.
 *
 * <p>While it is down nobody may rely on being woken; messages sent meanwhile are lost. A connection whose peer is gone
 * without a word is found by {@link SignsOfLife}. State is guarded by {@code this}; listeners are called
 * outside of it.
 */
final class Subscriptions implements WakeUps {

    private static final Logger LOG = LoggerFactory.getLogger(Subscriptions.class);

    /** A missing right is not granted within a second; meanwhile the server's ACL log stays short. */
    private static final long REFUSED_NANOS = 60_000_000_000L;

    private final Driver driver;
    private final Connections.Locator locator;
    private final String channel;
    private final String purpose;
    private final RedisErrors errors;
    private final SubscriptionRefusals refusals;
    private final LockRuntime runtime;
    private final Consumer<String> onMessage;
    private volatile Runnable onResubscribed = () -> {};

    private final CompletableFuture<Boolean> firstTry = new CompletableFuture<>();
    private volatile @Nullable PushConnection current;
    private volatile @Nullable RedisUri place;
    private boolean started;
    private int failures;
    private boolean closed;

    /**
     * A subscription that is not made yet.
     *
     * @param locator says where the server is, each time anew
     * @param purpose what is subscribed to, for messages
     * @param onMessage takes each message, on the connection's thread
     */
    Subscriptions(
            Driver driver,
            Connections.Locator locator,
            String channel,
            String purpose,
            RedisErrors errors,
            LockRuntime runtime,
            Consumer<String> onMessage) {
        this.driver = driver;
        this.locator = locator;
        this.channel = channel;
        this.purpose = purpose;
        this.errors = errors;
        this.refusals = new SubscriptionRefusals(purpose, errors);
        this.runtime = runtime;
        this.onMessage = onMessage;
    }

    @Override
    public String channel(String lockKey) {
        return channel;
    }

    @Override
    public void onResubscribed(Runnable listener) {
        onResubscribed = listener;
    }

    @Override
    public boolean isLive(String lockKey) {
        return isLive();
    }

    private boolean isLive() {
        PushConnection connection = current;
        return connection != null && connection.isOpen();
    }

    @Override
    public CompletableFuture<Boolean> started(String lockKey) {
        synchronized (this) {
            if (started || closed) {
                return firstTry.isDone() || closed ? CompletableFuture.completedFuture(isLive()) : firstTry.copy();
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
                    return StepLimit.ofPushes(driver, server, errors, runtime);
                })
                .whenComplete(this::connected);
    }

    private void connected(@Nullable PushConnection connection, @Nullable Throwable error) {
        if (connection == null) {
            // A login that is refused is tried again soon: the password may be about to change.
            refusals.of(error == null ? new IllegalStateException("no connection") : error);
            firstTry.complete(false);
            retryLater();
            return;
        }
        // Who accepts a connection and then says nothing is tried again.
        LockRuntime.Timer patience = runtime.schedule(Connections.PATIENCE_NANOS, connection::close);
        subscribed(connection).whenComplete((done, refusal) -> {
            patience.cancel();
            if (refusal != null) {
                connection.close();
                refused(refusal);
            } else {
                adopt(connection);
            }
        });
    }

    /** A driver that throws has failed as one that says so. */
    private CompletableFuture<Void> subscribed(PushConnection connection) {
        try {
            connection.listen(onMessage::accept);
            return connection.subscribe(channel);
        } catch (RuntimeException | Error e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private void adopt(PushConnection connection) {
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
        if (!firstTry.complete(true)) {
            LOG.info("subscribed to {} again", purpose);
            onResubscribed.run();
        }
        // It may have moved while this was under way.
        leaveUnlessStillThere();
    }

    private void lost(PushConnection connection) {
        synchronized (this) {
            if (current != connection) {
                return;
            }
            current = null;
        }
        connection.close();
        if (!isClosed()) {
            LOG.info("subscription to {} ended; subscribing again", purpose);
            retryLater();
        }
    }

    private void refused(Throwable refusal) {
        Failure failure = refusals.of(refusal);
        firstTry.complete(false);
        if (failure.kind() == FailureKind.PERMANENT) {
            runtime.schedule(REFUSED_NANOS, this::connect);
        } else {
            retryLater();
        }
    }

    /** The server may be elsewhere now: what it publishes is not heard at the former place. */
    void leaveUnlessStillThere() {
        PushConnection connection = current;
        if (connection != null && !isStillThere()) {
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
        runtime.schedule(Retry.delayNanos(before, runtime), this::connect);
    }

    private synchronized boolean isClosed() {
        return closed;
    }

    /** Makes no more subscriptions; the last one ends with the driver. */
    @Override
    public void close() {
        synchronized (this) {
            closed = true;
            current = null;
        }
        firstTry.complete(false);
    }
}
