package io.leasehold.redis.topology;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SslOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.sentinel.api.StatefulRedisSentinelConnection;
import java.io.File;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
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

    private final ClientResources resources;
    private final RedisClient client;
    private final RedisUri uri;

    /** A driver for one server, or for several with the same settings; nothing is connected yet. */
    public Driver(RedisUri uri) {
        this.uri = uri;
        this.resources = ClientResources.builder()
                .ioThreadPoolSize(2)
                .computationThreadPoolSize(2)
                .commandLatencyRecorder(CommandLatencyRecorder.disabled())
                .build();
        this.client = RedisClient.create(resources);
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
        Future<Boolean> ended = resources.shutdown(0, SHUTDOWN_SECONDS, TimeUnit.SECONDS);
        try {
            ended.get(SHUTDOWN_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            LOG.warn("the threads of the connections to {} did not end within {} s", uri, SHUTDOWN_SECONDS);
        }
    }
}
