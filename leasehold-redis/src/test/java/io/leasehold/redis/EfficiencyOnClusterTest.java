package io.leasehold.redis;

import static io.leasehold.redis.TopologyBench.nothingIsHeld;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Hold;
import io.leasehold.LockClient;
import io.leasehold.ReleaseOutcome;
import io.leasehold.servers.RedisCluster;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of one-key commands while the slot of the key moves: moved and new keys are at the next master. */
@Tag("full")
@Timeout(180)
final class EfficiencyOnClusterTest {

    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final String KEY = "lock:{moving}";

    private static RedisCluster cluster;

    @BeforeAll
    static void start() {
        cluster = Groups.cluster(0, node -> node);
    }

    @AfterAll
    static void stop() {
        if (cluster != null) {
            cluster.close();
        }
    }

    @Test
    void whileItsSlotMovesALockIsRenewedReleasedAndAcquired() throws InterruptedException {
        try (EfficiencyLocks locks = EfficiencyLocks.connect(cluster.uri());
                EfficiencyLocks other = EfficiencyLocks.connect(cluster.uri())) {
            Hold hold = locks.named("moving").acquire();
            SlotMove move = SlotMove.of(cluster, KEY);
            move.begin();
            move.carry(1);

            hold.renew();
            assertThat(other.named("moving").tryAcquire(Duration.ZERO)).isNull();
            assertThat(hold.release()).isEqualTo(ReleaseOutcome.RELEASED);
            Hold next = other.named("moving").attempt(PATIENCE).orElseThrow();
            assertThat(move.to().call("CLUSTER", "COUNTKEYSINSLOT", "" + move.slot()))
                    .as("taken where it will be")
                    .isEqualTo("1");
            assertThat(next.isValid()).isTrue();
            assertThat(locks.named("moving").tryAcquire(Duration.ZERO)).isNull();

            move.end();
            assertThat(next.release()).isEqualTo(ReleaseOutcome.RELEASED);
            nothingIsHeld(cluster.nodes());
            move.undo();
        }
    }

    /** Tests the records and the searches of a full client in addition to its locks. */
    @Test
    void whileASlotMovesLeaksAreLookedFor() throws InterruptedException {
        try (TopologyBench bench = new TopologyBench()) {
            LockClient client = bench.client(cluster.uri());
            client.named("left").acquire().close();
            SlotMove move = SlotMove.of(cluster, "lock:{left}");
            move.begin();
            move.carry(1);

            assertThat(client.admin().leaks(Duration.ZERO)).isEmpty();

            move.end();
            move.undo();
        }
    }
}
