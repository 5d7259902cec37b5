package io.leasehold.redis;

import static io.leasehold.redis.NodeBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.ReleaseOutcome;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.servers.RedisServer;
import io.leasehold.spi.StoreUri;
import java.time.Duration;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests that a temporarily refused release is repeated, for example while a user is created again: waiters do not wait
 * for the end of the ttl.
 */
@Timeout(180)
@Tag("quick")
final class RefusedReleaseTest {

    private static final String USER = "on >secret resetchannels " + RedisErrors.RIGHTS;
    private static final Duration TTL = Duration.ofMinutes(10);

    private static void setUser(RedisServer server, String rules) {
        server.call(Stream.concat(Stream.of("ACL", "SETUSER", "app"), Arrays.stream(rules.split(" ")))
                .toArray(String[]::new));
    }

    private static void isToldLater(RedisServer server, Runnable refuse, Runnable accept) throws InterruptedException {
        String uri = "redis://app:secret@127.0.0.1:" + server.port();
        try (LockClient client = Leasehold.builder()
                .store(runtime -> new RedisStoreProvider().open(StoreUri.parse(uri), runtime))
                .defaults(LockOptions.defaults().ttl(TTL))
                .connect()) {
            Lease lease = client.named("order:1").acquire();
            refuse.run();

            assertThat(lease.releaseAsync().toCompletableFuture().join()).isEqualTo(ReleaseOutcome.UNCONFIRMED);
            assertThat(server.call("EXISTS", "lock:{order:1}")).isEqualTo("1");

            accept.run();
            until(
                    "the lock is free",
                    () -> server.call("EXISTS", "lock:{order:1}").equals("0"));
        }
    }

    @Test
    void refusedForItsPassword() throws InterruptedException {
        try (RedisServer server = RedisUnderTest.start(b -> b.user("app", USER))) {
            Runnable refuse = () -> {
                server.call("ACL", "DELUSER", "app");
                until(
                        "its connections have ended",
                        () -> !server.call("CLIENT", "LIST").contains("user=app"));
            };
            isToldLater(server, refuse, () -> setUser(server, USER));
        }
    }

    @Test
    void refusedForARight() throws InterruptedException {
        try (RedisServer server = RedisUnderTest.start(b -> b.user("app", USER))) {
            isToldLater(server, () -> setUser(server, "-evalsha -eval"), () -> setUser(server, "+evalsha +eval"));
        }
    }
}
