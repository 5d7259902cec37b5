package io.leasehold.jedis;

import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClusterClient;

/** The same Cluster passes the TCK over a client of the user. */
@Tag("full")
final class JedisClusterClientTckTest extends JedisClusterTckTest {

    private static RedisClusterClient client;

    @BeforeAll
    static void connect() {
        client = RedisClusterClient.create(
                Set.of(new HostAndPort("127.0.0.1", group().nodes().get(0).port())));
    }

    @AfterAll
    static void disconnect() {
        if (client != null) {
            client.close();
        }
    }

    @Override
    JedisStore store() {
        return JedisStore.over(client);
    }
}
