package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KV;
import io.etcd.jetcd.maintenance.AlarmType;
import io.leasehold.Backoff;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import io.leasehold.ReleaseOutcome;
import io.leasehold.servers.EtcdServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A cluster without room refuses writes; its holders and waiters can still end. */
@Tag("full")
class NoSpaceTest {

    /** Much longer than any wait below: nothing here ends by itself. */
    private static final Duration TTL = Duration.ofMinutes(5);

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private EtcdServer server;
    private final List<LockClient> clients = new ArrayList<>();

    @BeforeEach
    void start() {
        server = EtcdTckTest.startOrSkip("--quota-backend-bytes=8388608");
    }

    @AfterEach
    void stop() {
        clients.forEach(LockClient::close);
        if (server != null) {
            server.close();
        }
    }

    private LockClient client() {
        LockOptions options = LockOptions.defaults()
                .ttl(TTL)
                .recheck(Duration.ofMillis(250))
                .retry(Backoff.jittered(Duration.ofMillis(5), Duration.ofMillis(50)));
        LockClient client = Leasehold.builder()
                .store("etcd://127.0.0.1:" + server.port() + "/full")
                .defaults(options)
                .connect();
        clients.add(client);
        return client;
    }

    private Client operator() {
        return Client.builder().endpoints("http://127.0.0.1:" + server.port()).build();
    }

    private static void until(BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start).as("not in time").isLessThan(PATIENCE.toNanos());
            LockSupport.parkNanos(20_000_000);
        }
    }

    private int queued() {
        try (Client operator = operator()) {
            return operator.getKVClient()
                    .get(new Keys("full").queue(LockName.of("held")), Etcd.inOrder(0, 0))
                    .join()
                    .getKvs()
                    .size();
        }
    }

    private void fill() throws Exception {
        try (Client operator = operator()) {
            KV kv = operator.getKVClient();
            ByteSequence large = ByteSequence.from(new byte[1_000_000]);
            for (int i = 0; i < 30; i++) {
                try {
                    kv.put(Keys.bytes("fill-" + i), large).get(60, TimeUnit.SECONDS);
                } catch (ExecutionException full) {
                    assertThat(operator.getMaintenanceClient()
                                    .listAlarms()
                                    .get(60, TimeUnit.SECONDS)
                                    .getAlarms())
                            .extracting(alarm -> alarm.getAlarmType())
                            .containsExactly(AlarmType.NOSPACE);
                    return;
                }
            }
        }
        throw new AssertionError("the server is not full");
    }

    @Test
    void waitersLeaveAndHoldersReleaseAndTheNextOneHolds() throws Exception {
        LockClient late = client();
        Lease lease = client().named("held").acquire();
        CompletableFuture<Lease> leaves = client().named("held").acquireAsync();
        until(() -> queued() == 2);
        CompletableFuture<Lease> stays = client().named("held").acquireAsync();
        until(() -> queued() == 3);
        // Its watch must exist, too.
        LockSupport.parkNanos(Duration.ofMillis(500).toNanos());
        fill();
        lease.renew();
        leaves.cancel(false);
        until(() -> queued() == 2);
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
        Lease next = stays.get(60, TimeUnit.SECONDS);
        assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
        next.renew();
        assertThat(next.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThatThrownBy(() -> late.named("held").tryAcquire(Duration.ofSeconds(1)))
                .isInstanceOf(LockStoreException.class)
                .hasMessageContaining("no room");
        assertThat(queued()).isZero();
    }
}
