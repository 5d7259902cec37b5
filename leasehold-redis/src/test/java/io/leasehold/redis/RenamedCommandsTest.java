package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockStoreException;
import io.leasehold.servers.RedisServer;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that Leasehold does not repeat the arguments of an unknown command, unlike the server: they may be secrets. */
@Timeout(120)
@Tag("full")
final class RenamedCommandsTest {

    private static RedisServer without(String command) {
        return RedisUnderTest.start(builder -> builder.config("rename-command " + command + " \"\""));
    }

    private static String whole(Throwable thrown) {
        assertThat(thrown).isInstanceOf(LockStoreException.class);
        StringWriter text = new StringWriter();
        thrown.printStackTrace(new PrintWriter(text));
        return text.toString();
    }

    @Test
    void aPasswordIsNotRepeated() {
        try (RedisServer server = without("AUTH")) {
            String at = "app:hunter2@127.0.0.1:" + server.port();
            for (String uri : new String[] {
                "redis://" + at,
                "redis-cluster://" + at,
                "redis-sentinel://127.0.0.1:" + server.port() + "/main?sentinelUser=app&sentinelPassword=hunter2"
            }) {
                // By chance, the driver reports either the server's error or the end of the connection.
                for (int i = 0; i < 5; i++) {
                    Throwable thrown =
                            catchThrowable(() -> Leasehold.connect(uri).close());
                    assertThat(whole(thrown)).doesNotContain("hunter2");
                }
            }
        }
    }

    @Test
    void anOwnerTokenIsNotRepeated() {
        try (RedisServer server = without("EVALSHA");
                LockClient locks = Leasehold.connect("redis://127.0.0.1:" + server.port())) {
            Throwable thrown = catchThrowable(() -> locks.named("order:1").tryAcquire(Duration.ofSeconds(20)));
            assertThat(whole(thrown))
                    .containsIgnoringCase("unknown command")
                    .contains("order:1")
                    .doesNotContain("with args")
                    .doesNotContainPattern("[0-9a-f]{40}");
        }
    }
}
