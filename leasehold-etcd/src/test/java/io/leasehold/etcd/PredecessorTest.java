package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.leasehold.Backoff;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.servers.EtcdServer;
import io.leasehold.simulator.proxy.TcpProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Each way in which the key before a waiter's goes, and the reaction of the waiter. */
@Tag("full")
class PredecessorTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static EtcdServer server;
    private final List<AutoCloseable> open = new ArrayList<>();

    @BeforeAll
    static void start() {
        server = EtcdTckTest.startOrSkip();
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    @AfterEach
    void close() throws Exception {
        for (AutoCloseable one : open) {
            one.close();
        }
    }

    private LockClient client(int port, Duration ttl) {
        LockOptions options = LockOptions.defaults()
                .ttl(ttl)
                .recheck(Duration.ofMillis(250))
                .retry(Backoff.jittered(Duration.ofMillis(5), Duration.ofMillis(50)));
        LockClient client = Leasehold.builder()
                .store("etcd://127.0.0.1:" + port + "/before")
                .defaults(options)
                .connect();
        open.add(client);
        return client;
    }

    private static void until(BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start).as("not in time").isLessThan(PATIENCE.toNanos());
            LockSupport.parkNanos(20_000_000);
        }
    }

    private static List<KeyValue> queue(String lock) {
        try (Client client =
                Client.builder().endpoints("http://127.0.0.1:" + server.port()).build()) {
            return client.getKVClient()
                    .get(new Keys("before").queue(LockName.exactly(lock)), Etcd.inOrder(0, 0))
                    .join()
                    .getKvs();
        }
    }

    @Test
    void aWaiterThatIsGoneWithItsLeaseMakesNobodyPause() throws Exception {
        LockClient holder = client(server.port(), Duration.ofSeconds(30));
        LockClient last = client(server.port(), Duration.ofSeconds(30));
        long fastestNanos = Long.MAX_VALUE;
        for (int round = 0; round < 5; round++) {
            String lock = "left-" + round;
            Lease lease = holder.named(lock).acquire();
            assertThat(client(server.port(), Duration.ofSeconds(30)).named(lock).acquireAsync())
                    .isNotDone();
            until(() -> queue(lock).size() == 2);
            CompletableFuture<Long> next = last.named(lock).acquireAsync().thenApply(later -> {
                long atNanos = System.nanoTime();
                later.close();
                return atNanos;
            });
            until(() -> queue(lock).size() == 3);
            LockSupport.parkNanos(Duration.ofMillis(500).toNanos());
            try (Client operator = Client.builder()
                    .endpoints("http://127.0.0.1:" + server.port())
                    .build()) {
                operator.getLeaseClient().revoke(queue(lock).get(1).getLease()).join();
            }
            LockSupport.parkNanos(Duration.ofMillis(100).toNanos());
            long releasedAtNanos = System.nanoTime();
            lease.release();
            fastestNanos = Math.min(fastestNanos, next.get(60, TimeUnit.SECONDS) - releasedAtNanos);
            open.remove(open.size() - 1).close();
        }
        assertThat(Duration.ofNanos(fastestNanos))
                .as("the fastest of five hand-overs behind a waiter that was lost")
                .isLessThan(Duration.ofMillis(1_200));
    }

    @Test
    void aHolderThatIsCutOffHasLostBeforeItsKeyIsFree() throws Exception {
        Duration ttl = Duration.ofSeconds(2);
        TcpProxy proxy = TcpProxy.to(server.port());
        LockClient holder = client(proxy.port(), ttl);
        open.add(proxy);
        LockClient waiter = client(server.port(), ttl);
        for (int round = 0; round < 3; round++) {
            String lock = "cut-" + round;
            Lease lease = holder.named(lock).acquire();
            CompletableFuture<Boolean> two = waiter.named(lock).acquireAsync().thenApply(later -> {
                boolean both = lease.isValid();
                later.close();
                return both;
            });
            until(() -> queue(lock).size() == 2);
            proxy.stall();
            assertThat(two.get(60, TimeUnit.SECONDS)).as("two hold at once").isFalse();
            proxy.resume();
            proxy.resetAll();
        }
    }
}
