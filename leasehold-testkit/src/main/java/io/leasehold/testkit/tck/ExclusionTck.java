package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.Guarantee;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/**
 * Tests of exclusion: one holder at a time among all contenders, while nothing is released by force. If an operator
 * ends a session, a lease or a key at the store, that counts as a forced release.
 */
public interface ExclusionTck extends SharesStore {

    /** Threads of several clients add to a counter that no atomic operation protects; nothing is lost. */
    @Test
    default void contendersLoseNoIncrement(TckBench bench) {
        int clients = 3;
        int threadsEach = 3;
        int rounds = 40;
        LockName name = bench.name("counter");
        UnguardedCounter counter = new UnguardedCounter();
        List<Thread> threads = new ArrayList<>();
        TaskErrors errors = new TaskErrors();
        for (int c = 0; c < clients; c++) {
            LockClient client = bench.client();
            for (int t = 0; t < threadsEach; t++) {
                threads.add(errors.start("contender-" + c + "-" + t, () -> {
                    for (int i = 0; i < rounds; i++) {
                        try (Lease lease = client.named(name).acquire()) {
                            counter.addOneSlowly(lease.fencingToken());
                        }
                    }
                }));
            }
        }
        errors.join(threads);
        assertEquals(clients * threadsEach * rounds, counter.value());
        if (bench.client().guarantees().covers(Guarantee.Fencing.INCREASING)) {
            assertEquals(0, counter.tokensOutOfOrder());
        }
    }

    /** A held lock is busy for every caller, including the holder's own client and thread: it is not reentrant. */
    @Test
    default void heldLockIsBusyForEverybody(TckBench bench) throws InterruptedException {
        LockClient client = bench.client();
        LockClient other = bench.client();
        LockName name = bench.name("everybody");
        try (Lease lease = client.named(name).acquire()) {
            assertTrue(lease.isValid());
            assertNull(client.named(name).tryAcquire(Duration.ZERO));
            assertNull(other.named(name).tryAcquire(Duration.ZERO));
            assertNull(other.named(name).tryAcquire(Duration.ofMillis(50)));
        }
        try (Lease lease = other.named(name).tryAcquire(TckBench.PATIENCE)) {
            assertNotNull(lease);
            assertNull(client.named(name).tryAcquire(Duration.ZERO));
        }
    }

    /** Clients with different ttls exclude each other, and each lease lasts for its own ttl. */
    @Test
    default void clientsWithDifferentTtlsExcludeEachOther(TckBench bench) throws InterruptedException {
        LockClient brief = bench.client(o -> o.ttl(Duration.ofSeconds(3)));
        LockClient lasting = bench.client(o -> o.ttl(Duration.ofMinutes(5)));
        LockName name = bench.name("ttls");
        try (Lease lease = lasting.named(name).acquire()) {
            assertNull(brief.named(name).tryAcquire(Duration.ofMillis(100)));
            assertTrue(lease.remainingValidity().compareTo(Duration.ofMinutes(2)) > 0);
        }
        try (Lease lease = brief.named(name).acquire()) {
            assertNull(lasting.named(name).tryAcquire(Duration.ofMillis(100)));
            assertTrue(lease.remainingValidity().compareTo(Duration.ofSeconds(3)) < 0);
        }
    }

    /** Over thousands of leases, of two clients in turn, the tokens that users see increase strictly. */
    @Test
    default void fencingTokensIncreaseOverClients(TckBench bench) throws InterruptedException {
        bench.needs(Guarantee.Fencing.INCREASING);
        LockClient[] clients = {bench.client(), bench.client()};
        LockName name = bench.name("client-tokens");
        AtomicLong last = new AtomicLong();
        for (int i = 0; i < 1_000; i++) {
            try (Lease lease = clients[(i / 5) % 2].named(name).acquire()) {
                long token = lease.fencingToken();
                assertEquals(token, lease.fencingToken());
                assertTrue(token > last.get(), "token " + token + " follows " + last);
                last.set(token);
            }
        }
    }
}
