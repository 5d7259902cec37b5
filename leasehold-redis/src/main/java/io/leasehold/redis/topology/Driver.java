package io.leasehold.redis.topology;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SslOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.sentinel.api.StatefulRedisSentinelConnection;
import java.io.File;
import java.time.Duration;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The driver, set up so that it sends everything at most once: it never reconnects by itself, rejects what is sent
 * while it is not connected, and leaves all time limits to us.
 *
 * <p>RESP2, since its handshake needs no rights and every proxy speaks it.
 */
public final class Driver implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Driver.class);
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);
    private static final long SHUTDOWN_SECONDS = 2;

    private final RedisUri uri;
    private final DriverThreads threads;
    private final RedisClient client;
    private final @Nullable Borrowed<StatefulRedisConnection<String, String>> commands;
    private final @Nullable Borrowed<StatefulRedisPubSubConnection<String, String>> pushes;
    private final Set<StatefulConnection<?, ?>> ended =
            Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));
    private final Map<StatefulConnection<?, ?>, CompletableFuture<Void>> endings = new ConcurrentHashMap<>();
    private volatile boolean closing;

    /** A driver for one server, or for several with the same settings; nothing is connected yet. */
    public Driver(RedisUri uri, DriverThreads threads) {
        this(uri, threads, options(uri), null, null);
    }

    private Driver(
            RedisUri uri,
            DriverThreads threads,
            ClientOptions options,
            @Nullable Borrowed<StatefulRedisConnection<String, String>> commands,
            @Nullable Borrowed<StatefulRedisPubSubConnection<String, String>> pushes) {
        this.uri = uri;
        this.threads = threads;
        this.commands = commands;
        this.pushes = pushes;
        this.client = RedisClient.create(threads.use());
        client.setOptions(options);
    }

    /** A driver for the servers of a deployment. */
    public static Driver of(Deployment where, DriverThreads threads) {
        return new Driver(where.data(), threads);
    }

    /** With the threads and options of somebody else's client, which stays as it is. */
    public static Driver over(RedisClient client, RedisUri uri) {
        return new Driver(
                uri, DriverThreads.borrowed(client.getResources()), atMostOnce(client.getOptions()), null, null);
    }

    /**
     * Over somebody else's connections, which stay as they are. They may reconnect and send again what was in flight: the
     * protocol bears it, since a copy of a request that comes late is stale.
     *
     * @param pushes null if nobody is to be woken
     */
    public static Driver over(
            RedisUri uri,
            StatefulRedisConnection<String, String> commands,
            @Nullable StatefulRedisPubSubConnection<String, String> pushes) {
        return new Driver(
                uri,
                DriverThreads.borrowed(commands.getResources()),
                atMostOnce(commands.getOptions()),
                Borrowed.forCommands(commands),
                pushes == null ? null : Borrowed.forPushes(pushes));
    }

    private static ClientOptions atMostOnce(ClientOptions options) {
        return atMostOnce(options.mutate()).build();
    }

    private static ClientOptions.Builder atMostOnce(ClientOptions.Builder options) {
        return options.autoReconnect(false)
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .protocolVersion(ProtocolVersion.RESP2)
                .pingBeforeActivateConnection(false)
                .timeoutOptions(TimeoutOptions.create());
    }

    private static ClientOptions options(RedisUri uri) {
        ClientOptions.Builder options = atMostOnce(ClientOptions.builder())
                .socketOptions(SocketOptions.builder()
                        .connectTimeout(CONNECT_TIMEOUT)
                        .keepAlive(true)
                        .tcpNoDelay(true)
                        .build());
        String certificates = uri.certificates();
        if (certificates != null) {
            options.sslOptions(
                    SslOptions.builder().trustManager(new File(certificates)).build());
        }
        return options.build();
    }

    /** Whether all that can be had is one connection of somebody else's: lent again, it is taken from whom it was lent to. */
    boolean isBorrowed() {
        return commands != null;
    }

    /** Makes a connection for commands. */
    CompletableFuture<StatefulRedisConnection<String, String>> connect(RedisUri server) {
        if (commands != null) {
            return commands.lend();
        }
        if (closing) {
            // On threads that have ended it could not even fail.
            return CompletableFuture.failedFuture(new RedisException("Connection is closed"));
        }
        return client.connectAsync(StringCodec.UTF8, handshake(server)).toCompletableFuture();
    }

    /** Makes a connection for subscriptions. */
    CompletableFuture<StatefulRedisPubSubConnection<String, String>> connectForPushes(RedisUri server) {
        if (pushes != null) {
            return pushes.lend();
        }
        if (commands != null) {
            return CompletableFuture.failedFuture(new RedisException("no connection for wake-ups was brought along"));
        }
        return client.connectPubSubAsync(StringCodec.UTF8, handshake(server)).toCompletableFuture();
    }

    /** Makes a connection for questions to a Sentinel. */
    CompletableFuture<StatefulRedisSentinelConnection<String, String>> connectToSentinel(RedisUri sentinel) {
        return client.connectSentinelAsync(StringCodec.UTF8, handshake(sentinel));
    }

    private static RedisURI handshake(RedisUri server) {
        return server.forDriver(CONNECT_TIMEOUT);
    }

    /**
     * Ends a connection that was made here, once: the driver warns of a second time, and keeps a connection that ended by
     * itself until it is told.
     */
    void end(StatefulConnection<?, ?> connection) {
        if (closing && !connection.isOpen()) {
            // It is ended with all the others.
            return;
        }
        if (ended.add(connection)) {
            CompletableFuture<Void> ending = connection.closeAsync();
            endings.put(connection, ending);
            ending.whenComplete((done, error) -> endings.remove(connection));
        }
    }

    /** Ends all connections and threads. */
    @Override
    public void close() {
        closing = true;
        if (commands != null) {
            commands.giveBack();
        }
        if (pushes != null) {
            pushes.giveBack();
        }
        CompletableFuture<Void> allEnded = CompletableFuture.allOf(
                        endings.values().toArray(CompletableFuture<?>[]::new))
                .handle((done, error) -> error)
                .thenCompose(error -> client.shutdownAsync(0, SHUTDOWN_SECONDS, TimeUnit.SECONDS));
        try {
            allEnded.get(2 * SHUTDOWN_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            LOG.warn("the connections to {} did not end within {} s", uri, 2 * SHUTDOWN_SECONDS);
        }
        threads.release();
    }
}
