package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.lettuce.core.Range;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScoredValue;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests of several waiters in one client for a lock over a quorum, whose members know clients and not threads: no
 * waiter sleeps while the lock is free. A waiter that is not woken retries only after nine seconds.
 */
@Tag("quick")
final class RedlockContentionTest {

    private static final LockName NAME = LockName.of("hot");
    private static final Duration RECHECK = Duration.ofSeconds(9);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final List<RedisClient> clients = new ArrayList<>();
    private final List<StatefulRedisConnection<String, String>> links = new ArrayList<>();
    private RedlockServers servers;

    @BeforeEach
    void start() throws InterruptedException {
        servers = RedlockServers.start(3, "30s");
        servers.declareNew();
        // A script that a server does not know yet is sent a second time, after the requests of the meantime.
        try (LockClient first = client()) {
            first.named("scripts").acquire().release();
        }
        for (int node = 0; node < servers.size(); node++) {
            RedisClient client = RedisClient.create(
                    RedisURI.create("127.0.0.1", servers.server(node).port()));
            clients.add(client);
            links.add(client.connect());
        }
    }

    @AfterEach
    void stop() {
        clients.forEach(RedisClient::shutdown);
        servers.close();
    }

    private LockClient client() {
        return Leasehold.builder().store(servers.uri()).connect();
    }

    private static DistributedLock lock(LockClient client) {
        return client.named(NAME)
                .with(options -> options.ttl(Duration.ofSeconds(30)).recheck(RECHECK));
    }

    @Test
    void threadsOfOneClientPassItOnWithoutAPause() throws Exception {
        ConcurrentLinkedQueue<Long> times = new ConcurrentLinkedQueue<>();
        try (LockClient client = client()) {
            List<CompletableFuture<Void>> threads = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                threads.add(
                        CompletableFuture.runAsync(() -> takeInTurns(client, times), task -> new Thread(task).start()));
            }
            CompletableFuture.allOf(threads.toArray(CompletableFuture<?>[]::new))
                    .get(120, TimeUnit.SECONDS);
        }
        assertThat(times).hasSize(4 * 100);
        assertThat(longestPause(times)).isLessThan(RECHECK.dividedBy(2));
    }

    private static void takeInTurns(LockClient client, ConcurrentLinkedQueue<Long> times) {
        for (int i = 0; i < 100; i++) {
            try (Lease lease = lock(client).tryAcquire(PATIENCE)) {
                assertThat(lease).isNotNull();
                times.add(System.nanoTime());
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private static Duration longestPause(Iterable<Long> times) {
        long longest = 0;
        Long before = null;
        for (long time : times) {
            longest = before == null ? 0 : Math.max(longest, time - before);
            before = time;
        }
        return Duration.ofNanos(longest);
    }

    /** The releasing client has the next waiter, and another client has one behind it. */
    @Test
    void whoGivesItBackWakesItsOwnWaiter() throws Exception {
        try (LockClient ours = client();
                LockClient theirs = client()) {
            bothGetWhatOursGivesBack(ours, ours, theirs);
        }
    }

    /** A release must not cost the waiter of the same client its place. */
    @Test
    void whoWaitsBesideAHolderKeepsItsPlace() throws Exception {
        try (LockClient ours = client();
                LockClient theirs = client()) {
            bothGetWhatOursGivesBack(ours, theirs, ours);
        }
    }

    private void bothGetWhatOursGivesBack(LockClient ours, LockClient first, LockClient second) throws Exception {
        Lease held = lock(ours).acquire();
        CompletableFuture<Lease> one = lock(first).acquireAsync();
        awaitWaiters(1);
        CompletableFuture<Lease> other = lock(second).acquireAsync();
        awaitWaiters(2);
        held.release();
        soon(releasedOnceHeld(one), releasedOnceHeld(other));
    }

    /** A waiter that gives up must not cost the one behind it in the same client its place. */
    @Test
    void whoGivesUpLeavesThePlaceToTheNextOfItsClient() throws Exception {
        try (LockClient ours = client();
                LockClient theirs = client()) {
            Lease held = lock(theirs).acquire();
            CompletableFuture<Lease> first = lock(ours).acquireAsync();
            awaitWaiters(1);
            CompletableFuture<Lease> second = lock(ours).acquireAsync();
            List<Double> before = latestSeenAlive();
            first.cancel(true);
            awaitAskedAgain(before);
            held.release();
            soon(releasedOnceHeld(second));
        }
    }

    private static CompletableFuture<Void> releasedOnceHeld(CompletableFuture<Lease> lease) {
        return lease.thenAccept(Lease::release);
    }

    /** Waits for all of them, in any order of the wake-ups, and before any retry without a wake-up. */
    private static void soon(CompletableFuture<?>... all) throws Exception {
        CompletableFuture.allOf(all).get(RECHECK.toMillis() / 2, TimeUnit.MILLISECONDS);
    }

    /**
     * Waits until this number of clients waits at two of the three members; the third may get its request before its
     * subscription is live.
     */
    private void awaitWaiters(int count) throws InterruptedException {
        for (int i = 0; i < 500 && membersWith(count) < 2; i++) {
            TimeUnit.MILLISECONDS.sleep(10);
        }
        assertThat(membersWith(count)).isGreaterThanOrEqualTo(2);
    }

    /** Waits until two members have received requests after these times. */
    private void awaitAskedAgain(List<Double> before) throws InterruptedException {
        for (int i = 0; i < 500 && membersAskedSince(before) < 2; i++) {
            TimeUnit.MILLISECONDS.sleep(10);
        }
        assertThat(membersAskedSince(before)).isGreaterThanOrEqualTo(2);
    }

    private long membersAskedSince(List<Double> before) {
        List<Double> now = latestSeenAlive();
        return IntStream.range(0, now.size())
                .filter(member -> now.get(member) < before.get(member))
                .count();
    }

    /** By member: minus the time until which the only waiting client counts as alive; zero where none waits. */
    private List<Double> latestSeenAlive() {
        return links.stream()
                .map(link -> link.sync().zrangeWithScores("lock:{hot}:watchers", 0, 0).stream()
                        .mapToDouble(ScoredValue::getScore)
                        .min()
                        .orElse(0))
                .toList();
    }

    private int membersWith(int waiters) {
        int members = 0;
        for (StatefulRedisConnection<String, String> link : links) {
            members += link.sync().zcount("lock:{hot}:watchers", Range.create(1, Double.MAX_VALUE)) == waiters ? 1 : 0;
        }
        return members;
    }
}
