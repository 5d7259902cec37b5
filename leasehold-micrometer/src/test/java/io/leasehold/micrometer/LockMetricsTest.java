package io.leasehold.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.leasehold.Acquirable;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener.AttemptBegan;
import io.leasehold.LockListener.AttemptEnded;
import io.leasehold.LockListener.AttemptOutcome;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.MultiPermit;
import io.leasehold.fencing.FencingGuard;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.toolkit.PermitsByLocks;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the meters of a real client in a real registry. */
@Tag("quick")
class LockMetricsTest {

    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private static LockClient client(LockMetrics metrics) {
        return Leasehold.builder().store("memory:").listener(metrics).connect();
    }

    private static double count(MeterRegistry registry, String name, String... tags) {
        return registry.get(name).tags(tags).counter().count();
    }

    private static double gauge(MeterRegistry registry, String name, String resource) {
        return registry.get(name).tag("resource", resource).gauge().value();
    }

    @Test
    void everyAttemptIsCountedWithItsOutcome() throws Exception {
        MeterRegistry registry = new SimpleMeterRegistry();
        try (LockClient locks = client(LockMetrics.of(registry))) {
            LockName name = LockName.of("order:{id}", 1);
            try (Lease held = locks.named(name).acquire()) {
                assertThat(gauge(registry, "distributed.lock.held", "order:{id}"))
                        .isEqualTo(1);
                assertThat(locks.named(name).tryAcquire(Duration.ZERO)).isNull();
                assertThat(locks.named(name).tryAcquire(Duration.ofMillis(30))).isNull();
                CompletableFuture<?> waiting = locks.named(name).attemptAsync(PATIENCE);
                assertThat(gauge(registry, "distributed.lock.waiting", "order:{id}"))
                        .isEqualTo(1);
                waiting.cancel(true);
                held.renew();
            }
        }
        for (String outcome : new String[] {"acquired", "busy", "timeout", "interrupted"}) {
            assertThat(registry.get("distributed.lock.wait")
                            .tags("resource", "order:{id}", "outcome", outcome)
                            .timer()
                            .count())
                    .as(outcome)
                    .isEqualTo(1);
        }
        assertThat(count(registry, "distributed.lock.failures", "reason", "timeout"))
                .isEqualTo(1);
        assertThat(count(registry, "distributed.lock.failures", "reason", "error"))
                .isZero();
        assertThat(count(registry, "distributed.lock.renewals", "outcome", "renewed"))
                .isEqualTo(1);
        assertThat(registry.get("distributed.lock.headroom").summary().mean()).isBetween(0.0, 1.0);
        assertThat(registry.get("distributed.lock.hold").timer().count()).isEqualTo(1);
        assertThat(gauge(registry, "distributed.lock.held", "order:{id}")).isZero();
        assertThat(gauge(registry, "distributed.lock.waiting", "order:{id}")).isZero();
    }

    @Test
    void waitsAndHoldsAreTwoNumbers() throws Exception {
        MeterRegistry registry = new SimpleMeterRegistry();
        try (LockClient locks = client(LockMetrics.of(registry));
                Lease lease = locks.named("long").acquire()) {
            assertThat(lease.isValid()).isTrue();
            Thread.sleep(300);
        }
        double waited = registry.get("distributed.lock.wait")
                .tag("outcome", "acquired")
                .timer()
                .totalTime(TimeUnit.MILLISECONDS);
        double held = registry.get("distributed.lock.hold").timer().totalTime(TimeUnit.MILLISECONDS);
        assertThat(held).isGreaterThanOrEqualTo(300);
        assertThat(waited).isLessThan(held);
    }

    @Test
    void aLossIsCountedWithItsCauseAndEndsTheHold() throws Exception {
        MeterRegistry registry = new SimpleMeterRegistry();
        LockName name = LockName.of("job:{name}", "nightly");
        try (LockClient locks = client(LockMetrics.of(registry));
                Lease lease = locks.named(name).acquire()) {
            assertThat(count(registry, "distributed.lock.lost", "cause", "force_released"))
                    .as("the zero before the first loss")
                    .isZero();
            locks.admin().forceRelease(name, null);
            assertThat(lease.isValid()).isFalse();
        }
        assertThat(count(registry, "distributed.lock.lost", "cause", "force_released"))
                .isEqualTo(1);
        assertThat(gauge(registry, "distributed.lock.held", "job:{name}")).isZero();
        assertThat(registry.get("distributed.lock.hold").timer().count()).isEqualTo(1);
    }

    @Test
    void severalLocksAtOnceAreCountedOneByOne() throws Exception {
        MeterRegistry registry = new SimpleMeterRegistry();
        try (LockClient locks = client(LockMetrics.of(registry));
                AutoCloseable both = locks.all(LockName.of("a:{id}", 1), LockName.of("b:{id}", 1))
                        .acquire()) {
            assertThat(gauge(registry, "distributed.lock.held", "a:{id}")).isEqualTo(1);
            assertThat(gauge(registry, "distributed.lock.held", "b:{id}")).isEqualTo(1);
            assertThat(gauge(registry, "distributed.lock.waiting", "a:{id}")).isZero();
            assertThat(both).isNotNull();
        }
        assertThat(gauge(registry, "distributed.lock.held", "a:{id}")).isZero();
    }

    /** As at Redlock, ZooKeeper and etcd. The returned permits of a busy attempt were never held. */
    @Test
    void severalPermitsThatAreALockForEachSlotAreOneHold() throws Exception {
        MeterRegistry registry = new SimpleMeterRegistry();
        LockName pool = LockName.of("pool:{id}", 1);
        try (LockClient locks = Leasehold.builder()
                .store(runtime -> new PermitsByLocks(new SingleNodeStore(new InMemoryNode(runtime), runtime), runtime))
                .listener(LockMetrics.of(registry))
                .connect()) {
            Acquirable<MultiPermit> three = locks.permits(pool, 4).several(3);
            try (MultiPermit held = three.acquire()) {
                assertThat(held.slots()).hasSize(3);
                assertThat(gauge(registry, "distributed.lock.held", "pool:{id}"))
                        .isEqualTo(1);
                assertThat(three.tryAcquire(Duration.ZERO)).isNull();
                assertThat(gauge(registry, "distributed.lock.held", "pool:{id}"))
                        .isEqualTo(1);
            }
            assertThat(gauge(registry, "distributed.lock.held", "pool:{id}")).isZero();
            assertThat(registry.get("distributed.lock.hold").timer().count()).isEqualTo(1);
        }
    }

    @Test
    void theTagIsNeverAnUnboundedName() throws Exception {
        MeterRegistry registry = new SimpleMeterRegistry();
        LockMetrics metrics = LockMetrics.builder(registry)
                .resources("nightly-report")
                .mostResources(3)
                .build();
        try (LockClient locks = client(metrics)) {
            for (int i = 0; i < 50; i++) {
                locks.named("customer-" + i).acquire().close();
                locks.named(LockName.of("kind" + i + ":{id}", i)).acquire().close();
            }
            locks.named("nightly-report").acquire().close();
        }
        Set<String> resources = registry.getMeters().stream()
                .map(Meter::getId)
                .map(id -> id.getTag("resource"))
                .collect(Collectors.toSet());
        assertThat(resources)
                .containsExactlyInAnyOrder(
                        "nightly-report", "_exact", "_other", "kind0:{id}", "kind1:{id}", "kind2:{id}");
        assertThat(registry.get("distributed.lock.wait")
                        .tags("resource", "_other", "outcome", "acquired")
                        .timer()
                        .count())
                .isEqualTo(47);
    }

    @Test
    void anAllowListKeepsEverythingElseOut() throws Exception {
        MeterRegistry registry = new SimpleMeterRegistry();
        LockMetrics metrics = LockMetrics.builder(registry)
                .resources("order:{id}")
                .onlyResources()
                .tags(Tags.of("application", "shop"))
                .build();
        try (LockClient locks = client(metrics)) {
            locks.named(LockName.of("order:{id}", 1)).acquire().close();
            locks.named(LockName.of("sneaky:{id}", 1)).acquire().close();
        }
        assertThat(registry.getMeters())
                .extracting(meter -> meter.getId().getTag("resource"))
                .containsOnly("order:{id}", "_other");
        assertThat(registry.getMeters())
                .extracting(meter -> meter.getId().getTag("application"))
                .containsOnly("shop");
    }

    @Test
    void refusedTokensAreCounted() {
        MeterRegistry registry = new SimpleMeterRegistry();
        FencingGuard guard = LockMetrics.of(registry).counting(FencingGuard.inMemory(), "account:{id}");
        guard.admit("account:1", 7);
        guard.admit("account:1", 8);
        guard.admit("account:1", 7);
        assertThat(count(registry, "distributed.lock.fencing.rejected", "resource", "account:{id}"))
                .isEqualTo(1);
    }

    /** The number of series per process is bounded, whatever the names of its locks are. */
    @Test
    void theSeriesOfAProcessAreBounded() throws Exception {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        LockMetrics metrics = LockMetrics.of(registry);
        try (LockClient locks = client(metrics)) {
            locks.named(LockName.of("first:{id}", 1)).acquire().close();
            assertThat(series(registry))
                    .as("of a resource that meets no trouble")
                    .isBetween(40L, 65L);
            for (int i = 0; i < 200; i++) {
                locks.named(LockName.of("kind" + i + ":{id}", i)).acquire().close();
                locks.named("customer-" + i).acquire().close();
            }
        }
        assertThat(series(registry)).as("of 50 templates, _exact and _other").isLessThan(52 * 65);
        for (AttemptOutcome outcome : AttemptOutcome.values()) {
            LockName name = LockName.of("first:{id}", 1);
            metrics.attemptBegan(new AttemptBegan(name));
            metrics.attemptEnded(new AttemptEnded(name, outcome, Duration.ZERO));
        }
        assertThat(registry.scrape().lines().filter(line -> line.contains("\"first:{id}\"")))
                .as("of a resource that has met everything")
                .hasSizeLessThanOrEqualTo(120);
    }

    private static long series(PrometheusMeterRegistry registry) {
        return registry.scrape().lines().filter(line -> !line.startsWith("#")).count();
    }

    @Test
    void prometheusSeesTheNamesAndBucketsOfTheContract() throws Exception {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        try (LockClient locks = client(LockMetrics.of(registry))) {
            locks.named(LockName.of("order:{id}", 1)).acquire().close();
        }
        String scrape = registry.scrape();
        for (String bucket : new String[] {"0.001", "0.005", "0.01", "0.05", "0.1", "0.5", "1.0", "5.0", "+Inf"}) {
            assertThat(scrape)
                    .contains("distributed_lock_wait_seconds_bucket{outcome=\"acquired\",resource=\"order:{id}\",le=\""
                            + bucket + "\"}");
        }
        assertThat(scrape).contains("distributed_lock_failures_total{reason=\"timeout\",resource=\"order:{id}\"} 0");
    }

    @Test
    void refusesACapThatIsNone() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockMetrics.builder(new SimpleMeterRegistry()).mostResources(-1))
                .withMessageContaining("-1")
                .withMessageContaining("0 … 10000");
    }

    @Test
    void aClientWithShortLeasesShowsItsHeadroom() throws Exception {
        MeterRegistry registry = new SimpleMeterRegistry();
        LockOptions options = LockOptions.defaults().ttl(Duration.ofSeconds(2));
        try (LockClient locks = Leasehold.builder()
                        .store("memory:")
                        .defaults(options)
                        .listener(LockMetrics.of(registry))
                        .connect();
                Lease lease = locks.named("short").acquire()) {
            lease.renew();
            assertThat(registry.get("distributed.lock.headroom").summary().max())
                    .isGreaterThan(0.5);
        }
    }
}
