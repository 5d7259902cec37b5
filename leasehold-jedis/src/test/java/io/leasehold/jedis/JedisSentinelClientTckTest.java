package io.leasehold.jedis;

import io.leasehold.servers.RedisSentinelGroup;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisSentinelClient;

/** The same master passes the TCK over a client of the user. */
@Tag("full")
final class JedisSentinelClientTckTest extends JedisSentinelTckTest {

    private static RedisSentinelClient client;

    static RedisSentinelClient client(RedisSentinelGroup group) {
        return RedisSentinelClient.builder()
                .masterName(RedisSentinelGroup.MASTER_NAME)
                .sentinels(group.sentinels().stream()
                        .map(sentinel -> new HostAndPort("127.0.0.1", sentinel.port()))
                        .collect(Collectors.toSet()))
                .build();
    }

    @BeforeAll
    static void connect() {
        client = client(group());
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
