package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the addresses that nodes of a Cluster report, which may differ from the real ones. */
@Tag("full")
@Timeout(180)
final class ClusterAddressTest {

    /** {@code cluster-preferred-endpoint-type hostname}, and a node without one: MOVED and ASK name the host {@code ?}. */
    @Test
    void aHostThatIsNotKnownIsTheOneThatWasAsked() throws Exception {
        try (RedisCluster cluster =
                Groups.cluster(0, node -> node.config("cluster-preferred-endpoint-type hostname"))) {
            RedisServer any = cluster.nodes().get(0);
            int slot = Integer.parseInt(any.call("CLUSTER", "KEYSLOT", "lock:{moved}"));
            RedisServer from = cluster.masterOf(slot);
            RedisServer to = from == any ? cluster.nodes().get(1) : any;
            try (LockClient client = Leasehold.connect(cluster.uri());
                    Lease lease = client.named("moved").acquire()) {
                String number = Integer.toString(slot);
                to.call("CLUSTER", "SETSLOT", number, "IMPORTING", from.call("CLUSTER", "MYID"));
                from.call("CLUSTER", "SETSLOT", number, "MIGRATING", to.call("CLUSTER", "MYID"));
                for (String key : from.call("CLUSTER", "GETKEYSINSLOT", number, "100")
                        .lines()
                        .filter(one -> !one.isEmpty())
                        .toList()) {
                    from.call("MIGRATE", "127.0.0.1", Integer.toString(to.port()), key, "0", "10000");
                }
                // While the slot moves: ASK.
                lease.renew();
                to.call("CLUSTER", "SETSLOT", number, "NODE", to.call("CLUSTER", "MYID"));
                from.call("CLUSTER", "SETSLOT", number, "NODE", to.call("CLUSTER", "MYID"));
                // Afterwards: MOVED.
                lease.renew();
                assertThat(lease.isValid()).isTrue();
                assertThat(from.call("INFO", "errorstats")).contains("ASK", "MOVED");
            }
        }
    }
}
