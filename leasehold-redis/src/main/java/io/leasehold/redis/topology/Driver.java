package io.leasehold.redis.topology;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SslOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.sentinel.api.StatefulRedisSentinelConnection;
import java.io.File;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * The driver, set up so that it sends everything at most once: it never reconnects by itself, rejects what is sent
 * while it is not connected, and leaves all time limits to us.
 *
 * <p>RESP2, since its handshake needs no rights and every proxy speaks it.
 */
public final class Driver implements AutoCloseable {

    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);
    private static final long SHUTDOWN_SECONDS = 2;

    private final DriverThreads threads;
    private final RedisClient client;

    /** A driver for one server, or for several with the same settings; nothing is connected yet. */
    public Driver(RedisUri uri, DriverThreads threads) {
        this.threads = threads;
        this.client = RedisClient.create(threads.use());
        client.setOptions(options(uri));
    }

    private static ClientOptions options(RedisUri uri) {
        ClientOptions.Builder options = ClientOptions.builder()
                .autoReconnect(false)
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .protocolVersion(ProtocolVersion.RESP2)
                .pingBeforeActivateConnection(false)
                .timeoutOptions(TimeoutOptions.create())
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

    /** Makes a connection for commands. */
    CompletableFuture<StatefulRedisConnection<String, String>> connect(RedisUri server) {
        return client.connectAsync(StringCodec.UTF8, handshake(server)).toCompletableFuture();
    }

    /** Makes a connection for subscriptions. */
    CompletableFuture<StatefulRedisPubSubConnection<String, String>> connectForPushes(RedisUri server) {
        return client.connectPubSubAsync(StringCodec.UTF8, handshake(server)).toCompletableFuture();
    }

    /** Makes a connection for questions to a Sentinel. */
    CompletableFuture<StatefulRedisSentinelConnection<String, String>> connectToSentinel(RedisUri sentinel) {
        return client.connectSentinelAsync(StringCodec.UTF8, handshake(sentinel));
    }

    private static RedisURI handshake(RedisUri server) {
        return server.forDriver(CONNECT_TIMEOUT);
    }

    /** Ends all connections and threads. */
    @Override
    public void close() {
        client.shutdown(0, SHUTDOWN_SECONDS, TimeUnit.SECONDS);
        threads.release();
    }
}
