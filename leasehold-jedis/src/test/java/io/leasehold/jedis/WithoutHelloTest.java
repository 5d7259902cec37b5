package io.leasehold.jedis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockStoreException;
import io.leasehold.servers.RedisServer;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisClient;

/** A server or proxy that does not know {@code HELLO}, and repeats the arguments of unknown commands. */
@Tag("quick")
final class WithoutHelloTest {

    private static final String PASSWORD = "hunter2";
    private static RedisServer server;

    @BeforeAll
    static void start() {
        server = Servers.orSkip(() -> RedisServer.builder()
                .config("rename-command HELLO \"\"")
                .password(PASSWORD)
                .start());
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    private static LockClient over(JedisStore store) {
        return Leasehold.builder().store(store::open).connect();
    }

    private static RedisClient client(DefaultJedisClientConfig.Builder settings) {
        return RedisClient.builder()
                .hostAndPort("127.0.0.1", server.port())
                .clientConfig(settings.password(PASSWORD).build())
                .build();
    }

    @Test
    void aPasswordIsNotRepeated() {
        for (DefaultJedisClientConfig.Builder settings : new DefaultJedisClientConfig.Builder[] {
            DefaultJedisClientConfig.builder().resp2(),
            DefaultJedisClientConfig.builder().resp3().autoNegotiateProtocol(false)
        }) {
            try (RedisClient client = client(settings)) {
                Throwable thrown =
                        catchThrowable(() -> over(JedisStore.over(client)).close());
                assertThat(thrown).isInstanceOf(LockStoreException.class).hasMessageContaining("unknown command");
                StringWriter text = new StringWriter();
                thrown.printStackTrace(new PrintWriter(text));
                assertThat(text.toString()).doesNotContain(PASSWORD).doesNotContain("with args");
            }
        }
    }

    @Test
    void aStoreUriNeedsNone() throws Exception {
        try (LockClient locks = over(JedisStore.at("redis://:" + PASSWORD + "@127.0.0.1:" + server.port()));
                Lease lease = locks.named("order:1").acquire()) {
            assertThat(lease.isValid()).isTrue();
        }
    }
}
