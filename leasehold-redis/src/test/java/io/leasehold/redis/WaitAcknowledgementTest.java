package io.leasehold.redis;

import static io.leasehold.redis.TopologyBench.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.MultiLock;
import io.leasehold.StoreUnavailableException;
import io.leasehold.servers.RedisReplicated;
import io.leasehold.servers.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of acquires that replicas acknowledge: their cost, the clean end of a failed one, and the losses that they do
 * not prevent.
 */
@Timeout(180)
@Tag("full")
final class WaitAcknowledgementTest {

    private static RedisReplicated group;

    @BeforeAll
    static void start() {
        group = Groups.replicated(1);
    }

    @AfterAll
    static void stop() {
        if (group != null) {
            group.close();
        }
    }

    private static String uri(String parameters) {
        return group.uri() + "?" + parameters;
    }

    private static long calls(RedisServer server, String command) {
        Matcher calls =
                Pattern.compile("cmdstat_" + command + ":calls=(\\d+)").matcher(server.call("INFO", "commandstats"));
        return calls.find() ? Long.parseLong(calls.group(1)) : 0;
    }

    @Test
    void aHealthyAcquireIsOneScriptAndOneWaitBehindIt() throws InterruptedException {
        try (TopologyBench bench = new TopologyBench()) {
            LockClient client = bench.client(uri("waitReplicas=1&waitTimeout=10s"));
            client.named("warm").acquire().close();
            RedisServer primary = group.primary();
            primary.call("CONFIG", "RESETSTAT");

            try (Lease lease = client.named("healthy").acquire()) {
                assertThat(lease.isValid()).isTrue();
                assertThat(group.replicas().get(0).call("GET", "lock:{healthy}"))
                        .as("the replica has it when the caller has it")
                        .isNotEmpty();
                assertThat(calls(primary, "evalsha")).isEqualTo(1);
                assertThat(calls(primary, "wait")).isEqualTo(1);
            }
        }
    }

    @Test
    void manyAtOnceShareTheirWaits() throws InterruptedException {
        try (TopologyBench bench = new TopologyBench()) {
            LockClient client = bench.client(uri("waitReplicas=1&waitTimeout=10s"));
            client.named("warm").acquire().close();
            RedisServer primary = group.primary();
            primary.call("CONFIG", "RESETSTAT");
            int crowd = 200;
            List<CompletableFuture<Lease>> all = new ArrayList<>();
            for (int i = 0; i < crowd; i++) {
                all.add(client.named("crowd:" + i)
                        .with(options -> options.ttl(Duration.ofMinutes(5)).nodeTimeout(Duration.ofSeconds(30)))
                        .acquireAsync());
            }
            List<Lease> leases = all.stream().map(CompletableFuture::join).toList();

            assertThat(calls(primary, "evalsha")).as("each is sent once").isEqualTo(crowd);
            assertThat(calls(primary, "wait")).isBetween(1L, crowd / 2L);
            leases.forEach(Lease::close);
            // The gathered calls are sent together.
            assertThat(calls(primary, "evalsha")).as("and released once").isEqualTo(2L * crowd);
        }
    }

    @Test
    void whatIsNotAcknowledgedIsUndoneAndSaidToBeThat() {
        RedisServer replica = group.replicas().get(0);
        try (TopologyBench bench = new TopologyBench()) {
            LockClient client = bench.client(uri("waitReplicas=1&waitTimeout=50ms"));
            replica.freeze();
            try {
                for (Duration patience : List.of(Duration.ZERO, Duration.ofMillis(700))) {
                    assertThatThrownBy(() -> client.named("alone").tryAcquire(patience))
                            .isInstanceOf(StoreUnavailableException.class)
                            .hasMessageContaining("0 of 1 replicas")
                            .hasMessageContaining("50 ms");
                }
                until(
                        "no key is left",
                        () -> group.primary().call("EXISTS", "lock:{alone}").equals("0"));
            } finally {
                replica.thaw();
            }
            until(
                    "replicas are back",
                    () -> group.primary().call("WAIT", "1", "1000").equals("1"));
            TopologyBench.obtainsSoon(client, "alone");
        }
    }

    /** A client's own grant does not block its next request. */
    @Test
    void ofSeveralLocksThatAreNotAcknowledgedNoneIsLeft() throws InterruptedException {
        RedisServer replica = group.replicas().get(0);
        try (TopologyBench bench = new TopologyBench()) {
            LockClient client = bench.client(uri("waitReplicas=1&waitTimeout=50ms"));
            MultiLock several = client.all(LockName.exactly("one"), LockName.exactly("other"))
                    .with(options -> options.ttl(Duration.ofMinutes(10)));
            replica.freeze();
            try {
                assertThatThrownBy(() -> several.tryAcquire(Duration.ZERO))
                        .isInstanceOf(StoreUnavailableException.class)
                        .hasMessageContaining("0 of 1 replicas");
                until(
                        "no key is left",
                        () -> group.primary()
                                .call("EXISTS", "lock:{one}", "lock:{other}")
                                .equals("0"));
            } finally {
                replica.thaw();
            }
            until(
                    "replicas are back",
                    () -> group.primary().call("WAIT", "1", "1000").equals("1"));
            several.acquire().close();
        }
    }

    @Test
    void theRightIsAskedForAtOnce() {
        assertThatThrownBy(() -> {
                    try (RedisServer server = RedisUnderTest.start(
                                    b -> b.user("app", "on >secret ~lock:* &lock:wake:* +@all -wait"));
                            TopologyBench bench = new TopologyBench()) {
                        bench.client("redis://app:secret@127.0.0.1:" + server.port() + "?waitReplicas=1");
                    }
                })
                .isInstanceOf(io.leasehold.StoreAccessException.class)
                .hasMessageContaining("+wait");
    }

    /** The acknowledging replica is gone when the other one is promoted: one lock, two holders, both acknowledged. */
    @Test
    void anAcknowledgedLockIsLostInAFailOverEvenSo() throws InterruptedException {
        try (RedisReplicated three = Groups.replicated(2);
                TopologyBench bench = new TopologyBench()) {
            RedisServer acknowledging = three.replicas().get(0);
            RedisServer behind = three.replicas().get(1);
            LockClient first = bench.client(three.uri() + "?waitReplicas=1&waitTimeout=10s");
            behind.kill();
            Lease lease = first.named("order").acquire();
            assertThat(acknowledging.call("EXISTS", "lock:{order}")).isEqualTo("1");
            three.primary().kill();
            acknowledging.kill();
            behind.restart();
            behind.call("REPLICAOF", "NO", "ONE");

            LockClient second = bench.client(behind.uri());
            try (Lease other = second.named("order").tryAcquire(Duration.ofSeconds(2))) {
                assertThat(other).isNotNull();
                assertThat(lease.isValid() && other.isValid())
                        .as("two hold, and the first was acknowledged")
                        .isTrue();
            }
        }
    }
}
