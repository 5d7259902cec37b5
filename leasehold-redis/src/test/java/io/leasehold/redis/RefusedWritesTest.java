package io.leasehold.redis;

import static io.leasehold.redis.NodeBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.servers.RedisServer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of a server that refuses writes for a while: the client repeats ends of the meantime afterwards. */
@Tag("full")
@Timeout(150)
class RefusedWritesTest {

    private static final String QUEUED = "lock:{busy}:queued";

    /** Configures the tested server; the oldest one words its refusals differently. */
    RedisServer.Builder configured(RedisServer.Builder builder) {
        return builder;
    }

    private static LockClient client(RedisServer server) {
        // A waiter that is not removed from the queue would stay in it for longer than the test.
        return Leasehold.builder()
                .store(server.uri())
                .defaults(LockOptions.defaults().ttl(Duration.ofMinutes(5)).recheck(Duration.ofMinutes(4)))
                .connect();
    }

    private static void queued(RedisServer server, int waiters) {
        until(waiters + " wait", () -> waiting(server) == waiters);
    }

    private static int waiting(RedisServer server) {
        return StoredQueue.of(server.call("GET", QUEUED)).waiters().size();
    }

    @Test
    void aWaiterThatGivesUpMeanwhileKeepsTheLockFromNobodyAfterwards() throws Exception {
        try (RedisServer server = RedisUnderTest.start(this::configured);
                LockClient holder = client(server);
                LockClient leaving = client(server);
                LockClient staying = client(server)) {
            Lease lease = holder.named("busy").acquire();
            CompletableFuture<Lease> first =
                    leaving.named("busy").acquireAsync().toCompletableFuture();
            queued(server, 1);
            CompletableFuture<Lease> second =
                    staying.named("busy").acquireAsync().toCompletableFuture();
            queued(server, 2);
            server.call("CONFIG", "SET", "min-replicas-to-write", "1");
            first.cancel(false);
            // Time for a withdrawal that would wrongly count as done; a refused one is repeated until it succeeds.
            TimeUnit.MILLISECONDS.sleep(300);
            assertThat(waiting(server)).isEqualTo(2);

            server.call("CONFIG", "SET", "min-replicas-to-write", "0");

            queued(server, 1);
            lease.close();
            try (Lease next = second.get(60, TimeUnit.SECONDS)) {
                assertThat(next.isValid()).isTrue();
            }
        }
    }

    @Test
    void aFullServerHandsOverToAWaiterThatThenHolds() throws Exception {
        try (RedisServer server = RedisUnderTest.start(this::configured);
                LockClient holder = client(server);
                LockClient waiting = client(server)) {
            Lease lease = holder.named("busy").acquire();
            CompletableFuture<Lease> waiter =
                    waiting.named("busy").acquireAsync().toCompletableFuture();
            queued(server, 1);
            server.call("CONFIG", "SET", "maxmemory", "1");

            lease.close();

            Lease next = waiter.get(60, TimeUnit.SECONDS);
            until(
                    "the hold was confirmed for its whole ttl",
                    () -> Long.parseLong(server.call("PTTL", "lock:{busy}"))
                            > Duration.ofMinutes(2).toMillis());
            next.renew();
            assertThat(next.isValid()).isTrue();
            next.close();
            assertThat(server.call("EXISTS", "lock:{busy}")).isEqualTo("0");
        }
    }
}
