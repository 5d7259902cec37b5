package io.leasehold.redis;

import static io.leasehold.redis.NodeBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.servers.RedisReplicated;
import io.leasehold.servers.RedisServer;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A hand-over by a new primary reaches the waiters of the former one: a replica delivers the messages of its primary,
 * and {@code FAILOVER} ends no connection.
 */
@Timeout(120)
@Tag("full")
final class HandOverAfterFailoverTest {

    private static final String LOCK = "lock:{hot}";

    /** Creates a client whose waiters do not retry by themselves during the test. */
    private static LockClient client(RedisServer server) {
        return Leasehold.builder()
                .store("redis://127.0.0.1:" + server.port())
                .defaults(LockOptions.defaults().ttl(Duration.ofMinutes(5)).recheck(Duration.ofMinutes(4)))
                .connect();
    }

    private static int waiting(RedisServer server) {
        String queue = server.call("GET", LOCK + ":queued");
        return queue.isEmpty() ? 0 : StoredQueue.of(queue).waiters().size();
    }

    private static CompletableFuture<Lease> waits(LockClient client, RedisServer server, int place) {
        CompletableFuture<Lease> future = client.named("hot").acquireAsync();
        until("it waits", () -> waiting(server) == place);
        return future;
    }

    @Test
    void aWaiterOfTheFormerPrimaryDoesNotHoldBesideTheOneThatTheNewPrimaryServes() throws Exception {
        try (RedisReplicated group = Groups.replicated(1)) {
            RedisServer former = group.primary();
            RedisServer next = group.replicas().get(0);
            try (LockClient holder = client(former);
                    LockClient first = client(former);
                    MessagesOf heard = new MessagesOf(former)) {
                // The first wait of a client makes its subscription.
                Lease held = holder.named("hot").acquire();
                CompletableFuture<Lease> earlier = waits(first, former, 1);
                held.close();
                earlier.orTimeout(10, TimeUnit.SECONDS).join().close();
                assertThat(heard.next()).contains("handed");

                assertThat(holder.named("hot").acquire().isValid()).isTrue();
                CompletableFuture<Lease> left = waits(first, former, 1);
                former.call("FAILOVER");
                until(
                        "the former primary follows",
                        () -> former.call("INFO", "replication").contains("master_link_status:up"));

                try (LockClient second = client(next)) {
                    CompletableFuture<Lease> behind = waits(second, next, 2);
                    assertThat(second.admin().forceRelease("hot", null)).isTrue();
                    Lease served = behind.orTimeout(10, TimeUnit.SECONDS).join();
                    assertThat(heard.next())
                            .as("told to the waiter of the former primary")
                            .contains("handed");
                    Thread.sleep(500);
                    assertThat(left).as("while another holds").isNotDone();
                    assertThat(served.isValid()).isTrue();
                    left.cancel(true);
                    served.close();
                }
            }
        }
    }

    /** The messages of a server to the channels of waiters. */
    private static final class MessagesOf implements AutoCloseable {
        private final RedisClient client = RedisClient.create();
        private final BlockingQueue<String> messages = new LinkedBlockingQueue<>();

        MessagesOf(RedisServer server) {
            StatefulRedisPubSubConnection<String, String> connection =
                    client.connectPubSub(RedisURI.create(server.uri()));
            connection.addListener(new RedisPubSubAdapter<>() {
                @Override
                public void message(String pattern, String channel, String message) {
                    messages.add(message);
                }
            });
            connection.sync().psubscribe("lock:wake:*");
        }

        String next() throws InterruptedException {
            return String.valueOf(messages.poll(10, TimeUnit.SECONDS));
        }

        @Override
        public void close() {
            client.shutdown();
        }
    }
}
