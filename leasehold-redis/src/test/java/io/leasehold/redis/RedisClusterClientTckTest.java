package io.leasehold.redis;

import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.RedisClusterClient;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** Tests that the same Cluster passes the TCK with the application's own client. */
@Tag("full")
final class RedisClusterClientTckTest extends RedisClusterTckTest {

    private static RedisClusterClient client;
    private static RedisURI seed;

    @BeforeAll
    static void connect() {
        seed = RedisURI.create("127.0.0.1", group().nodes().get(0).port());
        client = RedisClusterClient.create(seed);
    }

    @AfterAll
    static void disconnect() {
        if (client != null) {
            client.shutdown(0, 2, TimeUnit.SECONDS);
        }
    }

    @Override
    RedisStore store() {
        return RedisStore.over(client, seed);
    }
}
