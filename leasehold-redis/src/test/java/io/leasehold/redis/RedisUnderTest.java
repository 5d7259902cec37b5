package io.leasehold.redis;

import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerUnavailableException;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** A real server for one test class, emptied before each test. A machine without a server visibly skips the class. */
@Tag("quick")
public final class RedisUnderTest implements BeforeAllCallback, BeforeEachCallback, AfterAllCallback {

    private final UnaryOperator<RedisServer.Builder> configuration;
    private RedisServer server;
    private RedisClient client;
    private StatefulRedisConnection<String, String> connection;

    public RedisUnderTest() {
        this(builder -> builder);
    }

    public RedisUnderTest(UnaryOperator<RedisServer.Builder> configuration) {
        this.configuration = configuration;
    }

    /** Starts a server, or skips the test. */
    public static RedisServer start(UnaryOperator<RedisServer.Builder> configuration) {
        try {
            return configuration.apply(RedisServer.builder()).start();
        } catch (ServerUnavailableException e) {
            return abort("no Redis server here: " + e.getMessage());
        }
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        server = start(configuration);
        client = RedisClient.create();
        connection = client.connect(RedisURI.create(server.uri()));
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        server.call("FLUSHALL");
    }

    @Override
    public void afterAll(ExtensionContext context) {
        if (server != null) {
            client.shutdown();
            server.close();
        }
    }

    public RedisServer server() {
        return server;
    }

    public RedisClient client() {
        return client;
    }

    public RedisCommands<String, String> redis() {
        return connection.sync();
    }
}
