package io.leasehold.redis;

import static io.leasehold.redis.NodeBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockOptions;
import io.leasehold.Renewal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Tests of threads that are interrupted anywhere in acquire and release, with locks that pass from client to client.
 */
@Timeout(300)
@Tag("quick")
class RedisHandOverInterruptsTest {

    private static final int CLIENTS = 3;
    private static final int THREADS = 6;
    private static final int ROUNDS = 100;
    private static final int HOT = 4;
    private static final int COLD = 3_000;

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final AtomicInteger renewals = new AtomicInteger();
    private final AtomicInteger interrupted = new AtomicInteger();
    private final AtomicInteger taken = new AtomicInteger();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private volatile boolean over;

    @Test
    void roundsOfRandomInterruptsLeaveNoKeyAndNoRenewal() throws Exception {
        List<LockClient> clients = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        try {
            for (int i = 0; i < CLIENTS; i++) {
                LockClient client = client();
                clients.add(client);
                for (int j = 0; j < THREADS; j++) {
                    Random random = new Random(100L * i + j);
                    threads.add(NewestThreads.unstarted(() -> take(client, random)));
                }
            }
            threads.forEach(Thread::start);
            Random random = new Random(1);
            for (int round = 0; round < ROUNDS; round++) {
                threads.get(random.nextInt(threads.size())).interrupt();
                threads.get(random.nextInt(threads.size())).interrupt();
                int before = taken.get();
                until("a thread continues", () -> taken.get() > before + 5 || failure.get() != null);
            }
            over = true;
            for (Thread thread : threads) {
                thread.join(TimeUnit.MINUTES.toMillis(2));
                assertThat(thread.isAlive()).isFalse();
            }
            assertThat(failure.get()).isNull();
            assertThat(interrupted.get()).isGreaterThan(ROUNDS / 4);
            until(
                    "every key but fences is gone",
                    () -> SERVER.redis().keys("lock:{*").stream().allMatch(key -> key.endsWith(":fence")));
            int renewed = renewals.get();
            // Three intervals: any leftover renewal would become visible.
            TimeUnit.SECONDS.sleep(1);
            assertThat(renewals).hasValue(renewed);
        } finally {
            over = true;
            threads.forEach(Thread::interrupt);
            clients.forEach(LockClient::close);
        }
    }

    private LockClient client() {
        return Leasehold.builder()
                .store("redis://127.0.0.1:" + SERVER.server().port())
                .defaults(LockOptions.defaults()
                        .renewal(Renewal.every(Duration.ofMillis(300)))
                        .recheck(Duration.ofMillis(500)))
                .listener(new LockListener() {
                    @Override
                    public void renewed(Renewed event) {
                        renewals.incrementAndGet();
                    }
                })
                .connect();
    }

    private void take(LockClient client, Random random) {
        while (!over) {
            String name = random.nextInt(3) == 0 ? "cold-" + random.nextInt(COLD) : "hot-" + random.nextInt(HOT);
            try (Lease lease = client.named(name).acquire()) {
                taken.incrementAndGet();
                assertThat(lease.fencingToken()).isPositive();
            } catch (InterruptedException e) {
                interrupted.incrementAndGet();
            } catch (RuntimeException | AssertionError e) {
                failure.compareAndSet(null, e);
                return;
            }
        }
    }
}
