package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerUnavailableException;
import io.leasehold.spi.StoreUri;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of one connection to a node of a real Cluster with the channels of several slots. */
@Tag("full")
@Timeout(120)
final class ShardedChannelsTest {

    private static RedisCluster start() {
        try {
            return RedisCluster.start();
        } catch (ServerUnavailableException e) {
            return abort("no Redis server here: " + e.getMessage());
        }
    }

    private static void until(String what, BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start).as(what).isLessThan(TimeUnit.SECONDS.toNanos(20));
            LockSupport.parkNanos(1_000_000);
        }
    }

    /** A node refuses a command with the channels of several slots, and idle channels are left together. */
    @Test
    void channelsOfSeveralSlotsAreLeftTogether() throws Exception {
        try (RedisCluster cluster = start()) {
            RedisServer master = cluster.masterOf(0);
            Deployment where = Deployment.parse(StoreUri.parse("redis-cluster://127.0.0.1:" + master.port()));
            Driver driver = LettuceDriver.of(where, new DriverThreads());
            try {
                PushConnection pushes =
                        driver.connectForPushes(where.servers().get(0)).get(60, TimeUnit.SECONDS);
                List<String> channels = new ArrayList<>();
                for (int slot = 0; slot < 3; slot++) {
                    channels.add(Channels.ofSlot(SlotTags.of(slot), "id"));
                    pushes.subscribeSharded(channels.get(slot)).get(60, TimeUnit.SECONDS);
                }
                pushes.unsubscribeSharded(channels.subList(0, 2));
                until(
                        "one channel is left",
                        () -> master.call("PUBSUB", "SHARDCHANNELS").equals(channels.get(2)));
                pushes.ping().get(60, TimeUnit.SECONDS);
            } finally {
                driver.close();
            }
        }
    }
}
