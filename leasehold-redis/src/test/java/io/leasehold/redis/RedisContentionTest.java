package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.servers.RedisServer;
import io.leasehold.simulator.proxy.TcpProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of one hot lock with several clients and a failing network: no two holders overlap, and no client starves. */
@Tag("quick")
class RedisContentionTest {

    private static final int CLIENTS = 3;
    private static final int THREADS = 3;
    private static final int TURNS = 40;
    private static final int FAULTS = 20;

    @Test
    void brokenConnectionsNeitherLetTwoInNorKeepEverybodyOut() throws Exception {
        List<TcpProxy> proxies = new ArrayList<>();
        List<LockClient> clients = new ArrayList<>();
        ExecutorService threads = Executors.newCachedThreadPool();
        AtomicBoolean over = new AtomicBoolean();
        try (RedisServer server = RedisUnderTest.start(b -> b)) {
            for (int i = 0; i < CLIENTS; i++) {
                TcpProxy proxy = TcpProxy.to(server.port());
                proxies.add(proxy);
                clients.add(Leasehold.builder()
                        .store("redis://127.0.0.1:" + proxy.port())
                        .defaults(LockOptions.defaults().recheck(Duration.ofMillis(500)))
                        .connect());
            }
            Turns turns = new Turns();
            List<Future<?>> workers = new ArrayList<>();
            for (LockClient client : clients) {
                for (int i = 0; i < THREADS; i++) {
                    workers.add(threads.submit(() -> turns.run(client)));
                }
            }
            Future<?> faults = threads.submit(() -> breakConnections(server, proxies, turns.faults, over));
            for (Future<?> worker : workers) {
                worker.get(8, TimeUnit.MINUTES);
            }
            over.set(true);
            faults.get(1, TimeUnit.MINUTES);
            assertThat(turns.taken.get()).isGreaterThanOrEqualTo(CLIENTS * THREADS * TURNS);
            assertThat(turns.overlaps.get()).isZero();
            assertThat(turns.regressions.get()).isZero();
        } finally {
            over.set(true);
            clients.forEach(LockClient::close);
            threads.shutdownNow();
            proxies.forEach(TcpProxy::close);
        }
    }

    /** The turns of the holders, from their own view. */
    private static final class Turns {
        private final AtomicInteger inside = new AtomicInteger();
        private final AtomicInteger overlaps = new AtomicInteger();
        private final AtomicInteger regressions = new AtomicInteger();
        private final AtomicInteger faults = new AtomicInteger();
        private final AtomicInteger taken = new AtomicInteger();
        private final AtomicLong lastToken = new AtomicLong();

        Void run(LockClient client) throws InterruptedException {
            for (int i = 0; i < TURNS || faults.get() < FAULTS; i++) {
                try (Lease lease = client.named("hot").acquire()) {
                    if (inside.incrementAndGet() != 1) {
                        overlaps.incrementAndGet();
                    }
                    if (lastToken.getAndSet(lease.fencingToken()) >= lease.fencingToken()) {
                        regressions.incrementAndGet();
                    }
                    taken.incrementAndGet();
                    inside.decrementAndGet();
                }
            }
            return null;
        }
    }

    private static Void breakConnections(
            RedisServer server, List<TcpProxy> proxies, AtomicInteger faults, AtomicBoolean over)
            throws InterruptedException {
        Random random = new Random(7);
        while (!over.get()) {
            switch (random.nextInt(4)) {
                case 0 -> proxies.get(random.nextInt(proxies.size())).resetAll();
                case 1 -> proxies.get(random.nextInt(proxies.size())).loseNextReplyTo(r -> r.contains("lock:{hot}"));
                case 2 -> server.call("CLIENT", "KILL", "TYPE", "pubsub");
                default -> server.call("SCRIPT", "FLUSH");
            }
            faults.incrementAndGet();
            // The pace of the faults has no influence on the result; it only leaves time for turns.
            TimeUnit.MILLISECONDS.sleep(100 + random.nextInt(200));
        }
        return null;
    }
}
