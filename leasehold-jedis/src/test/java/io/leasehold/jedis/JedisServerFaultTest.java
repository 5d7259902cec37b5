package io.leasehold.jedis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockStoreException;
import io.leasehold.servers.RedisServer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.RedisClient;

/** One server that is stopped, started and frozen, over Jedis. */
@Timeout(120)
@Tag("full")
final class JedisServerFaultTest {

    private static void obtainsSoon(LockClient locks, String name) {
        Servers.until(name + " can be had", () -> {
            try {
                Lease lease = locks.named(name).tryAcquire(Duration.ofSeconds(1));
                if (lease != null) {
                    lease.close();
                }
                return lease != null;
            } catch (LockStoreException | InterruptedException e) {
                return false;
            }
        });
    }

    @Test
    void aServerThatIsStoppedAndStartedServesAgain() throws Exception {
        try (RedisServer server =
                        Servers.orSkip(() -> RedisServer.builder().durable().start());
                RedisClient client = RedisClient.create("127.0.0.1", server.port());
                LockClient locks =
                        Leasehold.builder().store(JedisStore.over(client)::open).connect()) {
            Lease held =
                    locks.named("held").with(o -> o.ttl(Duration.ofSeconds(40))).acquire();
            CompletableFuture<Lease> waiting = locks.named("held").acquireAsync();
            server.stop();
            server.restart();
            obtainsSoon(locks, "free");
            assertThat(held.isValid()).isTrue();
            held.close();
            waiting.get(60, TimeUnit.SECONDS).close();
        }
    }

    @Test
    void aRestartWithoutDataIsReportedToTheHolder() throws Exception {
        try (RedisServer server = Servers.one();
                LockClient locks = Leasehold.builder()
                        .store(JedisStore.at(server.uri())::open)
                        .connect()) {
            Lease held = locks.named("held").acquire();
            server.restartEmpty();
            Servers.until("its holder knows", () -> !held.isValid());
            obtainsSoon(locks, "held");
        }
    }

    @Test
    void aFrozenServerKeepsNoCallerAndServesAgain() throws Exception {
        try (RedisServer server = Servers.one();
                LockClient locks = Leasehold.builder()
                        .store(JedisStore.at(server.uri())::open)
                        .connect()) {
            obtainsSoon(locks, "free");
            server.freeze();
            try {
                long start = System.nanoTime();
                CompletableFuture<Lease> asked = locks.named("free").acquireAsync();
                assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(30));
                asked.cancel(false);
            } finally {
                server.thaw();
            }
            obtainsSoon(locks, "free");
        }
    }

    /** For example if a connection ends too slowly. */
    @Test
    void anInterruptIsKeptAlsoWhereThreadsDoNotEnd() {
        JedisThreads threads = new JedisThreads("the test");
        CountDownLatch end = new CountDownLatch(1);
        threads.start("stays", () -> {
            try {
                end.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        Thread.currentThread().interrupt();
        threads.close();
        assertThat(Thread.interrupted()).isTrue();
        end.countDown();
    }
}
