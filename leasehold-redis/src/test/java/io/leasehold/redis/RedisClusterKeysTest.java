package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests on a Cluster that side keys are in the slot of their lock with every template, and that plain locks find their
 * keys.
 */
@Tag("full")
class RedisClusterKeysTest {

    private static RedisCluster cluster;

    @BeforeAll
    static void start() {
        cluster = Groups.cluster(0, b -> b);
    }

    @AfterAll
    static void stop() {
        if (cluster != null) {
            cluster.close();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"lock:{*}", "app:*", "*"})
    void locksAreWaitedForAndHandedOver(String template) throws Exception {
        RedisStore store = RedisStore.at(cluster.uri()).keys(template);
        try (LockClient one = Leasehold.builder().store(store::open).connect();
                LockClient other = Leasehold.builder().store(store::open).connect()) {
            for (String name : List.of("order:1", "a b", "{tag}:x", "zürich", "x{y", "50%")) {
                Lease first = one.named(name).acquire();
                CompletableFuture<Lease> waiting = other.named(name).acquireAsync();
                NodeBench.until(
                        "an attempt waits",
                        () -> !one.admin().waiters(first.lockName(), 10).isEmpty());
                first.renew();
                first.close();
                try (Lease next = waiting.get(60, TimeUnit.SECONDS)) {
                    assertThat(next.fencingToken()).isGreaterThan(first.fencingToken());
                }
            }
            assertThat(one.admin().list("*", 10)).isEmpty();
        }
    }

    /** The names have 16 slots; four threads use each of them. */
    @Test
    void whatManyThreadsAskForTogetherIsOfOneSlot() throws Exception {
        RedisStore store = RedisStore.at(cluster.uri()).keys("app:*");
        ExecutorService threads = Executors.newFixedThreadPool(64);
        try (LockClient locks = Leasehold.builder().store(store::open).connect()) {
            List<Callable<Void>> all = new ArrayList<>();
            for (int thread = 0; thread < 64; thread++) {
                String name = "{tag" + thread % 16 + "}:" + thread;
                all.add(() -> {
                    for (int i = 0; i < 50; i++) {
                        locks.named(name).acquire().close();
                    }
                    return null;
                });
            }
            for (Future<Void> done : threads.invokeAll(all)) {
                done.get(60, TimeUnit.SECONDS);
            }
        } finally {
            threads.shutdownNow();
        }
        long joint = 0;
        for (RedisServer master : cluster.nodes()) {
            assertThat(master.call("INFO", "errorstats")).doesNotContain("CROSSSLOT");
            joint += CommandCounts.of(master).of("evalsha");
        }
        assertThat(joint).as("scripts").isLessThan(2 * 64 * 50);
    }

    @Test
    void plainLocksOfManySlotsAreRenewedTogether() throws InterruptedException {
        try (EfficiencyLocks locks = EfficiencyLocks.over(
                RedisStore.at(cluster.uri()), LockOptions.defaults().ttl(Duration.ofSeconds(3)))) {
            List<Hold> holds = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                holds.add(locks.named("job:" + i).acquire());
            }
            long start = System.nanoTime();
            NodeBench.until("two ttls have passed", () -> System.nanoTime() - start > TimeUnit.SECONDS.toNanos(6));
            assertThat(holds).allMatch(Hold::isValid);
            holds.forEach(Hold::close);
            assertThat(locks.admin().list("*", 30)).isEmpty();
        }
    }
}
