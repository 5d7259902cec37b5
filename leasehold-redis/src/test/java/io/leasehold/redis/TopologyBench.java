package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.CredentialsProvider;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerException;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;

/**
 * The clients of a group, and the checks after each fault: locks are soon available again, and no lock stays taken
 * without a holder.
 */
final class TopologyBench implements AutoCloseable {

    static final Duration TTL = Duration.ofSeconds(6);
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    /**
     * The time within which a lock is available after the store serves again. Timers of the store with this delay or a
     * longer one never fire here, so that a recovery that depends on them fails on a machine of any speed.
     */
    private static final long PROMISED_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** The same time, plus a reserve for a loaded machine. */
    private static final Duration SOON = Duration.ofNanos(PROMISED_NANOS).plusSeconds(4);

    private final List<LockClient> clients = new ArrayList<>();

    LockClient client(String uri) {
        return client(runtime -> new RedisStoreProvider().open(StoreUri.parse(uri), runtime));
    }

    LockClient client(String uri, CredentialsProvider credentials) {
        return client(runtime -> RedisStore.at(uri).credentials(credentials).open(runtime));
    }

    private LockClient client(Function<LockRuntime, LockStore> opener) {
        LockClient client = Leasehold.builder()
                .store(runtime -> opener.apply(new WatchedRuntime(runtime, delay -> delay < PROMISED_NANOS)))
                .defaults(LockOptions.defaults().ttl(TTL).recheck(Duration.ofMillis(500)))
                .connect();
        clients.add(client);
        return client;
    }

    /** Checks that after the recovery old and new clients acquire free locks, including locks from before the fault. */
    void obtainsSoon(String uri, LockClient before, String... names) {
        for (LockClient client : List.of(before, client(uri))) {
            for (String name : names) {
                obtainsSoon(client, name);
            }
        }
    }

    static void obtainsSoon(LockClient client, String name) {
        long start = System.nanoTime();
        try (Lease lease = client.named(name).attempt(SOON).orElseThrow()) {
            assertThat(lease.isValid()).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(SOON.plusSeconds(2));
    }

    /**
     * Checks that the lease is still held or reported as lost: a lease must not be valid while another client could
     * hold the lock.
     */
    static void heldOrReported(Lease lease, LockClient other, String name) throws InterruptedException {
        until("the lease is valid again or reported lost", () -> {
            if (!lease.isValid()) {
                return true;
            }
            try {
                lease.renew();
                return true;
            } catch (LockStoreException | IllegalMonitorStateException notYet) {
                return !lease.isValid();
            }
        });
        try (Lease second = other.named(name).tryAcquire(Duration.ZERO)) {
            if (second != null) {
                assertThat(lease.isValid()).as("two hold %s", name).isFalse();
            }
        } catch (LockStoreException unavailable) {
            // No other client can hold the lock either.
        }
    }

    /** Checks that every lock was released: after a ttl at the latest, no master has a lock without a holder. */
    static void nothingIsHeld(List<RedisServer> masters) {
        until(
                "no lock is held",
                () -> masters.stream()
                        .filter(RedisServer::isRunning)
                        .allMatch(master -> master.call("KEYS", "lock:{*}").isBlank()));
    }

    static void until(String what, BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!holds(condition)) {
            assertThat(Duration.ofNanos(System.nanoTime() - start)).as(what).isLessThan(PATIENCE);
            java.util.concurrent.locks.LockSupport.parkNanos(5_000_000L);
        }
    }

    /** Returns false if the check throws: a server that restarts or is demoted closes connections. */
    private static boolean holds(BooleanSupplier condition) {
        try {
            return condition.getAsBoolean();
        } catch (ServerException notNow) {
            return false;
        }
    }

    @Override
    public void close() {
        clients.forEach(LockClient::close);
    }
}
