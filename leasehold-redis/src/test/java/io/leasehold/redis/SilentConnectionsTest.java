package io.leasehold.redis;

import static io.leasehold.redis.NodeBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.servers.RedisReplicated;
import io.leasehold.servers.RedisServer;
import io.leasehold.simulator.proxy.ScheduledLoss;
import io.leasehold.simulator.proxy.TcpProxy;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that each connection is watched separately for its whole life: an answer on another one does not count. */
@Tag("full")
@Timeout(180)
final class SilentConnectionsTest {

    private static LockClient client(String uri, Duration ttl) {
        return Leasehold.builder()
                .store(uri)
                .defaults(LockOptions.defaults().ttl(ttl).recheck(Duration.ofMillis(500)))
                .connect();
    }

    @Test
    void aConnectionThatWaitsForReplicasIsReplacedThoughTheOtherOneAnswers() throws Exception {
        try (RedisReplicated group = Groups.replicated(1);
                TcpProxy proxy = TcpProxy.to(group.primary().port());
                LockClient client = client(
                        "redis://127.0.0.1:" + proxy.port() + "?waitReplicas=1&waitTimeout=500ms",
                        Duration.ofSeconds(2));
                Lease renewed = client.named("renewed").acquire()) {
            ScheduledLoss silence = proxy.silenceFromNextReplyTo(request -> request.contains("\r\nWAIT\r\n"));
            long start = System.nanoTime();
            Lease lease = null;
            while (lease == null) {
                assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(60));
                try {
                    lease = client.named("other").tryAcquire(Duration.ofSeconds(1));
                } catch (LockStoreException notYet) {
                    assertThat(renewed.isValid())
                            .as("the other connection answers")
                            .isTrue();
                }
            }
            assertThat(silence.happened()).isTrue();
            assertThat(renewed.isValid()).isTrue();
            lease.close();
        }
    }

    /** A server that does not permit PING has answered; so has one that is busy. */
    @Test
    void aSubscriptionIsWatchedAlsoAfterAPingThatWasRefused() throws Exception {
        String rights = "on >secret resetchannels " + RedisErrors.RIGHTS + " -ping";
        try (RedisServer server = RedisUnderTest.start(b -> b.user("app", rights));
                TcpProxy proxy = TcpProxy.to(server.port());
                LockClient holder = client(server.uri(), Duration.ofMinutes(5));
                LockClient waiting = client("redis://app:secret@127.0.0.1:" + proxy.port(), Duration.ofMinutes(5))) {
            Lease lease = holder.named("busy").acquire();
            CompletableFuture<Lease> waiter = waiting.named("busy").acquireAsync();
            until("it is subscribed", () -> isSubscribed(server));
            until("a ping was refused", () -> server.call("ACL", "LOG").contains("ping"));
            proxy.halfOpenForClients();
            until("the server has lost it", () -> !isSubscribed(server));

            until("it is subscribed again", () -> isSubscribed(server));

            lease.close();
            waiter.get(60, TimeUnit.SECONDS).close();
        }
    }

    private static boolean isSubscribed(RedisServer server) {
        return server.call("CLIENT", "LIST", "TYPE", "PUBSUB")
                .lines()
                .anyMatch(line -> line.contains(" user=app ") && line.contains(" sub=1 "));
    }
}
