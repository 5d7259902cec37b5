package io.leasehold.redis;

import static io.leasehold.redis.TopologyBench.obtainsSoon;
import static io.leasehold.redis.TopologyBench.until;

import io.leasehold.LockClient;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisServer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of a new Cluster at the address of one that is permanently gone: its epochs start again. */
@Tag("full")
@Timeout(180)
final class ClusterMadeAnewTest {

    private static final int NEW_NODES = 2;
    private static final String[] NAMES = {"a", "b", "c", "d", "e", "f"};

    /** The address is that of a former master or replica. */
    @ParameterizedTest
    @ValueSource(ints = {0, 3})
    void runningClientsFindIt(int seed) {
        List<RedisServer> made = new ArrayList<>();
        try (RedisCluster former = Groups.cluster(1, node -> node);
                TopologyBench bench = new TopologyBench()) {
            for (int i = 0; i < 5; i++) {
                former.nodes().get(1).call("CLUSTER", "BUMPEPOCH");
                former.nodes().get(2).call("CLUSTER", "BUMPEPOCH");
            }
            until(
                    "all know the epoch",
                    () -> former.nodes().stream()
                                    .map(ClusterMadeAnewTest::epoch)
                                    .distinct()
                                    .count()
                            == 1);
            RedisServer known = former.nodes().get(seed);
            LockClient client = bench.client("redis-cluster://127.0.0.1:" + known.port());
            for (String name : NAMES) {
                obtainsSoon(client, name);
            }

            former.nodes().forEach(RedisServer::kill);
            known.restartEmpty();
            made.add(known);
            for (int i = 0; i < NEW_NODES; i++) {
                made.add(RedisServer.builder()
                        .port(0)
                        .config("cluster-enabled yes")
                        .start());
            }
            form(made);

            for (String name : NAMES) {
                obtainsSoon(client, name);
            }
        } finally {
            made.forEach(RedisServer::close);
        }
    }

    private static String epoch(RedisServer node) {
        return node.call("CLUSTER", "INFO")
                .lines()
                .filter(line -> line.startsWith("cluster_current_epoch:"))
                .findFirst()
                .orElseThrow();
    }

    private static void form(List<RedisServer> nodes) {
        int slots = 16_384;
        for (int i = 0; i < nodes.size(); i++) {
            RedisServer node = nodes.get(i);
            node.call("CLUSTER", "SET-CONFIG-EPOCH", Integer.toString(i + 1));
            node.call(
                    "CLUSTER",
                    "ADDSLOTSRANGE",
                    Integer.toString(i * slots / nodes.size()),
                    Integer.toString((i + 1) * slots / nodes.size() - 1));
            if (i > 0) {
                node.call(
                        "CLUSTER",
                        "MEET",
                        "127.0.0.1",
                        Integer.toString(nodes.get(0).port()));
            }
        }
        for (RedisServer node : nodes) {
            until("the Cluster is whole", () -> {
                String info = node.call("CLUSTER", "INFO");
                return info.contains("cluster_state:ok") && info.contains("cluster_slots_ok:" + slots);
            });
        }
    }
}
