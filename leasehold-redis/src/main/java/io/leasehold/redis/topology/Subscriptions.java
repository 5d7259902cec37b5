package io.leasehold.redis.topology;

import io.leasehold.StoreAccessException;
import io.leasehold.redis.wire.Failure;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
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
 * without a word is found by a ping every {@value #PING_SECONDS} s. State is guarded by {@code this}; listeners are called
 * outside of it.
 */
public final class Subscriptions implements AutoCloseable {

    /** What every channel of ours begins with. */
    public static final String PREFIX = "lock:wake:";

    private static final Logger LOG = LoggerFactory.getLogger(Subscriptions.class);
    private static final long PING_SECONDS = 5;
    private static final long PING_NANOS = PING_SECONDS * 1_000_000_000L;

    /** A missing right is not granted within a second; meanwhile the server's ACL log stays short. */
    private static final long REFUSED_NANOS = 60_000_000_000L;

    private final Driver driver;
    private final String channel;
    private final RedisErrors errors;
    private final LockRuntime runtime;
    private final Consumer<String> onMessage;
    private volatile Runnable onResubscribed = () -> {};

    private final CompletableFuture<Boolean> firstTry = new CompletableFuture<>();
    private volatile @Nullable StatefulRedisPubSubConnection<String, String> current;
    private boolean started;
    private boolean refusalTold;
    private int failures;
    private boolean closed;

    /**
     * A subscription that is not made yet.
     *
     * @param onMessage takes each message, on the connection's I/O thread
     */
    public Subscriptions(
            Driver driver, String channel, RedisErrors errors, LockRuntime runtime, Consumer<String> onMessage) {
        this.driver = driver;
        this.channel = channel;
        this.errors = errors;
        this.runtime = runtime;
        this.onMessage = onMessage;
    }

    /** The channel. */
    public String channel() {
        return channel;
    }

    /** Who is told when messages come again after some may have been lost. */
    public void onResubscribed(Runnable listener) {
        onResubscribed = listener;
    }

    /** Whether messages come now. */
    public boolean isLive() {
        StatefulRedisPubSubConnection<String, String> connection = current;
        return connection != null && connection.isOpen();
    }

    /** Begins to subscribe, the first time; completes with whether messages come, after the first try at the latest. */
    public CompletableFuture<Boolean> started() {
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
        driver.connectForPushes().whenComplete((connection, error) -> {
            if (error != null) {
                failed(error);
                return;
            }
            connection.addListener(new RedisPubSubAdapter<String, String>() {
                @Override
                public void message(String from, String message) {
                    onMessage.accept(message);
                }
            });
            connection.async().subscribe(channel).whenComplete((done, refusal) -> {
                if (refusal != null) {
                    connection.closeAsync();
                    failed(refusal);
                } else {
                    adopt(connection);
                }
            });
        });
    }

    private void adopt(StatefulRedisPubSubConnection<String, String> connection) {
        synchronized (this) {
            if (closed) {
                connection.closeAsync();
                return;
            }
            current = connection;
            failures = 0;
        }
        connection.addListener(new RedisConnectionStateListener() {
            @Override
            public void onRedisDisconnected(RedisChannelHandler<?, ?> ended) {
                lost(connection);
            }
        });
        if (!connection.isOpen()) {
            lost(connection);
        }
        ping(connection);
        if (!firstTry.complete(true)) {
            LOG.info("subscribed to wake-ups again");
            onResubscribed.run();
        }
    }

    private void lost(StatefulRedisPubSubConnection<String, String> connection) {
        synchronized (this) {
            if (current != connection) {
                return;
            }
            current = null;
        }
        if (!isClosed()) {
            LOG.info("subscription to wake-ups ended; subscribing again");
            retryLater();
        }
    }

    private void failed(Throwable error) {
        Failure failure = errors.of(error, "subscribe to wake-ups");
        tellRefusalOnce(failure);
        firstTry.complete(false);
        if (failure.kind() == FailureKind.PERMANENT) {
            runtime.schedule(REFUSED_NANOS, this::connect);
        } else {
            retryLater();
        }
    }

    private void tellRefusalOnce(Failure failure) {
        synchronized (this) {
            if (refusalTold || !(failure.error() instanceof StoreAccessException)) {
                return;
            }
            refusalTold = true;
        }
        LOG.warn(
                "waiters will ask again from time to time instead of being woken: {}",
                failure.error().getMessage());
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

    private void ping(StatefulRedisPubSubConnection<String, String> connection) {
        runtime.schedule(PING_NANOS, () -> {
            if (isClosed() || current != connection) {
                return;
            }
            LockRuntime.Timer patience = runtime.schedule(PING_NANOS, connection::closeAsync);
            connection.async().ping().whenComplete((pong, error) -> {
                patience.cancel();
                if (error == null) {
                    ping(connection);
                }
            });
        });
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
