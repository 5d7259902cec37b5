package io.leasehold.redis;

import static io.leasehold.redis.TopologyBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LossCause;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.servers.RedisReplicated;
import io.leasehold.servers.RedisSentinelGroup;
import io.leasehold.servers.RedisServer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that the current master notifies the client at once ({@code toldAtOnce}). */
@Timeout(180)
@Tag("full")
final class ToldAtOnceTopologiesTest {

    private static void isToldBy(RedisServer master, LockClient locks, String name) throws Exception {
        try (Lease lease = locks.named(name).acquire()) {
            long from = System.nanoTime();
            master.call("DEL", "lock:{" + name + "}");
            HoldEnd end = lease.whenEnded().toCompletableFuture().get(60, TimeUnit.SECONDS);
            assertThat(end).isEqualTo(new HoldEnd.Lost(LossCause.NOT_OURS));
            assertThat(Duration.ofNanos(System.nanoTime() - from))
                    .as("long before a renewal")
                    .isLessThan(Duration.ofSeconds(5));
        }
    }

    private static boolean isTracked(RedisServer master) {
        return master.call("INFO", "clients").contains("tracking_clients:1");
    }

    @Test
    void ofTheOldestServerWithTheRightsThatAreDocumented() throws Exception {
        String rules = "on >secret resetchannels " + RedisErrors.RIGHTS + Deployment.RIGHTS_TO_BE_TOLD;
        try (RedisServer oldest = RedisUnderTest.start(builder ->
                        builder.binary(BundledBinaries.oldestServer()).user("app", rules));
                LockClient locks =
                        Leasehold.connect(oldest.uri().replace("//", "//app:secret@") + "?toldAtOnce=true")) {
            until("it is notified", () -> isTracked(oldest));
            isToldBy(oldest, locks, "oldest");
        }
    }

    @Test
    void ofAReplicatedGroup() throws Exception {
        try (RedisReplicated group = Groups.replicated(1);
                LockClient locks = Leasehold.connect(group.uri() + "?toldAtOnce=true")) {
            until("it is notified", () -> isTracked(group.primary()));
            isToldBy(group.primary(), locks, "replicated");
        }
    }

    @Test
    void alsoTheOneThatHasTakenOver() throws Exception {
        try (RedisSentinelGroup group = Groups.sentinel(1, member -> member);
                LockClient locks = Leasehold.connect(group.uri() + "?toldAtOnce=true")) {
            RedisServer former = group.primary();
            until("it is notified", () -> isTracked(former));
            isToldBy(former, locks, "before");
            former.kill();
            RedisServer successor = group.awaitPrimaryOtherThan(former);
            until("it is notified by the new master", () -> isTracked(successor));
            isToldBy(successor, locks, "after");
        }
    }
}
