package io.leasehold.redis.topology;

import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.toolkit.CredentialsDesk;
import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.ReauthenticateBehavior;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SslOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.resource.ClientResources;
import java.io.File;
import java.time.Duration;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The driver for Lettuce, configured to send everything at most once.
 *
 * <p>It uses RESP2, since the handshake of RESP2 needs no rights and every proxy supports it. Tracking uses RESP3.
 */
public final class LettuceDriver implements Driver {

    private static final Logger LOG = LoggerFactory.getLogger(LettuceDriver.class);
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);
    private static final long SHUTDOWN_SECONDS = 2;

    private final RedisUri uri;
    private final DriverThreads threads;
    private final LettuceClient client;
    /**
     * The client for subscriptions. It differs from the first only if the options request a new login on open
     * connections: with them, Lettuce refuses RESP2 for subscriptions.
     */
    private final RedisClient forPushes;
    /** The client for tracking. It differs from the first only if keys are tracked: it uses RESP3. */
    private final RedisClient forTracking;

    private final Set<StatefulConnection<?, ?>> ended =
            Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));
    private final Map<StatefulConnection<?, ?>, CompletableFuture<Void>> endings = new ConcurrentHashMap<>();
    /** The connections that are being opened: the threads must not end before them. */
    private final Map<Object, CompletableFuture<Void>> making = new ConcurrentHashMap<>();

    private volatile boolean closing;
    private volatile @Nullable CredentialsDesk credentials;

    /** Creates a driver for one server, or for several with the same settings; nothing is connected yet. */
    public LettuceDriver(RedisUri uri, DriverThreads threads) {
        this(uri, threads, options(uri));
    }

    private LettuceDriver(RedisUri uri, DriverThreads threads, ClientOptions options) {
        this.uri = uri;
        this.threads = threads;
        // Lettuce encodes some requests on its event loop.
        LuaScript.readAll();
        ClientResources resources = threads.use();
        this.client = new LettuceClient(resources);
        client.setOptions(options);
        if (options.getReauthenticateBehaviour() == ReauthenticateBehavior.DEFAULT) {
            this.forPushes = client;
        } else {
            this.forPushes = new LettuceClient(resources);
            forPushes.setOptions(options.mutate()
                    .reauthenticateBehavior(ReauthenticateBehavior.DEFAULT)
                    .build());
        }
        if (uri.isToldAtOnce()) {
            this.forTracking = new LettuceClient(resources);
            forTracking.setOptions(
                    options.mutate().protocolVersion(ProtocolVersion.RESP3).build());
        } else {
            this.forTracking = client;
        }
    }

    /** Creates a driver for the servers of a deployment. */
    public static LettuceDriver of(Deployment where, DriverThreads threads) {
        return new LettuceDriver(where.data(), threads);
    }

    /**
     * Creates a driver with the threads and options of the application's client for one server or a Cluster. That
     * client is not changed.
     */
    public static LettuceDriver over(AbstractRedisClient client, Deployment where) {
        return new LettuceDriver(
                where.data(), DriverThreads.borrowed(client.getResources()), atMostOnce(client.getOptions()));
    }

    /** The options of the application's client, without those that could send something twice. */
    static ClientOptions atMostOnce(ClientOptions options) {
        return atMostOnce(options.mutate()).build();
    }

    private static ClientOptions.Builder atMostOnce(ClientOptions.Builder options) {
        return options.autoReconnect(false)
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .protocolVersion(ProtocolVersion.RESP2)
                .pingBeforeActivateConnection(false)
                .timeoutOptions(TimeoutOptions.create());
    }

    /** The options for the servers of a store URI. */
    static ClientOptions options(RedisUri uri) {
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

    @Override
    public void logInWith(CredentialsDesk desk) {
        credentials = desk;
    }

    /**
     * Opens a connection. If the server refuses a handshake with a password, Lettuce closes the connection on one
     * thread and reports the reason on another. It may then report the end in place of the reason; in that case, the
     * driver tries once more.
     */
    @Override
    public CompletableFuture<RedisConnection> connect(RedisUri server) {
        return connectOnce(server)
                .exceptionallyCompose(error -> RedisErrors.reasonOf(error) instanceof RedisConnectionException
                        ? connectOnce(server)
                        : CompletableFuture.failedFuture(error))
                .handle((connection, error) -> LettuceDriver.<RedisConnection>made(
                        connection == null ? null : new LettuceConnection(connection, this::end, client::isConnected),
                        error))
                .thenCompose(f -> f);
    }

    private static <C> CompletableFuture<C> made(@Nullable C connection, @Nullable Throwable error) {
        return error == null
                ? CompletableFuture.completedFuture(connection)
                : CompletableFuture.failedFuture(LettuceConnection.meaningOfNoConnection(error));
    }

    @Override
    public CompletableFuture<PushConnection> connectForPushes(RedisUri server) {
        return connected(server, uri -> forPushes.connectPubSubAsync(StringCodec.UTF8, uri))
                .handle((connection, error) -> LettuceDriver.<PushConnection>made(
                        connection == null ? null : new LettucePushes(connection, this::end), error))
                .thenCompose(f -> f);
    }

    @Override
    public CompletableFuture<TrackingConnection> connectForTracking(RedisUri server) {
        return connected(server, uri -> forTracking.connectAsync(StringCodec.UTF8, uri))
                .handle((connection, error) -> LettuceDriver.<TrackingConnection>made(
                        connection == null ? null : new LettuceTracking(connection, this::end), error))
                .thenCompose(f -> f);
    }

    CompletableFuture<StatefulRedisConnection<String, String>> connectOnce(RedisUri server) {
        return connected(server, uri -> client.connectAsync(StringCodec.UTF8, uri));
    }

    /**
     * Opens a connection. After the close none is started, and one that arrives late is closed: on borrowed threads it
     * would stay open.
     */
    private <C extends StatefulConnection<?, ?>> CompletableFuture<C> connected(
            RedisUri server, Function<RedisURI, CompletionStage<C>> connecting) {
        if (closing) {
            return refusedByClose();
        }
        return handshake(server).thenCompose(uri -> made(() -> connecting.apply(uri)));
    }

    /**
     * Registers the attempt before it checks whether the driver is closing. Thus either the close waits for the
     * attempt, or the attempt does not start.
     */
    private <C extends StatefulConnection<?, ?>> CompletableFuture<C> made(Supplier<CompletionStage<C>> connecting) {
        Object one = new Object();
        CompletableFuture<Void> over = new CompletableFuture<>();
        making.put(one, over);
        CompletableFuture<C> made = CompletableFuture.completedFuture(one)
                .thenCompose(noted -> closing ? LettuceDriver.<C>refusedByClose() : connecting.get())
                .thenCompose(this::unlessClosing);
        return made.whenComplete((connection, error) -> {
            making.remove(one);
            over.complete(null);
        });
    }

    private <C extends StatefulConnection<?, ?>> CompletableFuture<C> unlessClosing(C connection) {
        if (!closing) {
            return CompletableFuture.completedFuture(connection);
        }
        return connection
                .closeAsync()
                .handle((done, error) -> LettuceDriver.<C>refusedByClose())
                .thenCompose(refused -> refused);
    }

    private static <C> CompletableFuture<C> refusedByClose() {
        // Refuse here: on threads that have ended, the attempt could not even fail.
        return CompletableFuture.failedFuture(new RedisException("Connection is closed"));
    }

    private CompletableFuture<RedisURI> handshake(RedisUri server) {
        CredentialsDesk desk = credentials;
        return desk == null || !server.asksForLogin()
                ? CompletableFuture.completedFuture(LettuceUris.of(server, CONNECT_TIMEOUT, null))
                : desk.ask().thenApply(login -> LettuceUris.of(server, CONNECT_TIMEOUT, login));
    }

    /**
     * Closes a connection of this driver once. Lettuce warns about a second close, and it keeps a connection that ended
     * by itself until it is closed.
     */
    void end(StatefulConnection<?, ?> connection) {
        if (closing && !connection.isOpen()) {
            // The close of the driver ends it with all the others.
            return;
        }
        if (ended.add(connection)) {
            CompletableFuture<Void> ending = connection.closeAsync();
            endings.put(connection, ending);
            ending.whenComplete((done, error) -> endings.remove(connection));
        }
    }

    private static CompletableFuture<Void> ended(RedisClient client) {
        return client.shutdownAsync(0, SHUTDOWN_SECONDS, TimeUnit.SECONDS);
    }

    /**
     * Ends all connections and threads, in this order. Works on an interrupted thread, too, which stays interrupted.
     */
    @Override
    public void close() {
        closing = true;
        CompletableFuture<Void> allEnded = CompletableFuture.allOf(
                        making.values().toArray(CompletableFuture<?>[]::new))
                .thenCompose(made -> CompletableFuture.allOf(endings.values().toArray(CompletableFuture<?>[]::new)))
                .handle((done, error) -> error)
                .thenCompose(error -> CompletableFuture.allOf(ended(client), ended(forPushes), ended(forTracking)));
        if (!DriverThreads.isDoneWithin(allEnded, 2 * SHUTDOWN_SECONDS)) {
            LOG.warn("the connections to {} did not end within {} s", uri, 2 * SHUTDOWN_SECONDS);
        }
        threads.release();
    }
}
