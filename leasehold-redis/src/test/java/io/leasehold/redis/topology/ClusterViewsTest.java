package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.ServerUnavailableException;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.StoreUri;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the choice between the views of a Cluster's nodes. */
@Tag("full")
@Timeout(120)
final class ClusterViewsTest {

    private static RedisUri at(int port) {
        return RedisUri.parse(StoreUri.parse("redis://127.0.0.1:" + port));
    }

    /** It keeps its epoch ({@code CLUSTER RESET SOFT}), answers first, and knows no slots. */
    @Test
    void theViewOfANodeThatWasJustResetIsNone() throws Exception {
        LockRuntime runtime = new SystemLockRuntime();
        RedisErrors errors = new RedisErrors("the Cluster");
        try (RedisCluster cluster = start();
                TcpProxy slow = TcpProxy.to(cluster.nodes().get(0).port())) {
            int reset = cluster.nodes().get(2).port();
            Driver driver = new LettuceDriver(at(reset), new DriverThreads());
            try {
                TableReader reader = new TableReader(driver, errors, runtime);
                SlotTable known = reader.first(List.of(at(slow.port())), SlotTable.empty())
                        .get(60, TimeUnit.SECONDS);
                assertThat(known.served()).isEqualTo(SlotTable.SLOTS);
                Link toReset = link(driver, reset, errors, runtime);
                Link toOther = link(driver, slow.port(), errors, runtime);
                cluster.nodes().get(2).call("CLUSTER", "RESET", "SOFT");
                slow.delay(Duration.ofMillis(300));

                SlotTable found = reader.latest(List.of(toReset, toOther), List.of(), known)
                        .get(60, TimeUnit.SECONDS);

                assertThat(found.isAsNewAs(known)).isTrue();
                assertThat(found.served()).isPositive();
            } finally {
                driver.close();
            }
        } finally {
            runtime.close();
        }
    }

    private static Link link(Driver driver, int port, RedisErrors errors, LockRuntime runtime) throws Exception {
        return new Connections(
                        driver, Connections.Locator.fixed(at(port)), Expectation.CLUSTER_NODE, "node", errors, runtime)
                .open()
                .get(60, TimeUnit.SECONDS);
    }

    private static RedisCluster start() {
        try {
            return RedisCluster.start();
        } catch (ServerUnavailableException e) {
            return abort("no Redis server here: " + e.getMessage());
        }
    }
}
