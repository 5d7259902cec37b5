package io.leasehold.redis;

import static io.leasehold.redis.TopologyBench.heldOrReported;
import static io.leasehold.redis.TopologyBench.nothingIsHeld;
import static io.leasehold.redis.TopologyBench.until;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.servers.RedisReplicated;
import io.leasehold.servers.RedisServer;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of a fixed master that an operator demotes and promotes again. */
@Timeout(120)
@Tag("full")
final class ReplicatedFaultTest {

    /** A replica that is down or frozen is no reason to refuse. */
    @Test
    void aFrozenReplicaKeepsNobodyFromOpening() throws InterruptedException {
        try (RedisReplicated group = Groups.replicated(1)) {
            RedisServer replica = group.replicas().get(0);
            replica.freeze();
            try (LockClient client = Leasehold.connect(group.uri())) {
                client.named("free").acquire().close();
            } finally {
                replica.thaw();
            }
        }
    }

    @Test
    void aDemotedMasterIsSaidToTakeNoWritesAndServesAgainWhenItDoes() throws InterruptedException {
        try (RedisReplicated group = Groups.replicated(1);
                TopologyBench bench = new TopologyBench()) {
            RedisServer master = group.primary();
            RedisServer replica = group.replicas().get(0);
            LockClient client = bench.client(group.uri());
            Lease held = client.named("held")
                    .with(o -> o.ttl(Duration.ofSeconds(30)))
                    .acquire();
            until(
                    "the replica has it",
                    () -> replica.call("EXISTS", "lock:{held}").equals("1"));

            replica.call("REPLICAOF", "NO", "ONE");
            master.call("REPLICAOF", "127.0.0.1", Integer.toString(replica.port()));
            until("it takes no writes", () -> master.call("INFO", "replication").contains("master_link_status:up"));

            assertThatThrownBy(() -> client.named("free").tryAcquire(Duration.ofMillis(300)))
                    .isInstanceOf(StoreUnavailableException.class)
                    .hasMessageContaining("READONLY")
                    .hasMessageContaining("connect to its primary");
            assertThatThrownBy(held::renew)
                    .isInstanceOf(StoreUnavailableException.class)
                    .hasMessageContaining("READONLY");
            assertThatThrownBy(() -> bench.client(group.uri()))
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("is a replica")
                    .hasMessageContaining("127.0.0.1:" + replica.port());

            master.call("REPLICAOF", "NO", "ONE");
            replica.call("REPLICAOF", "127.0.0.1", Integer.toString(master.port()));
            bench.obtainsSoon(group.uri(), client, "free");
            heldOrReported(held, bench.client(group.uri()), "held");
            held.close();
            bench.obtainsSoon(group.uri(), client, "held");
            nothingIsHeld(List.of(master));
        }
    }
}
