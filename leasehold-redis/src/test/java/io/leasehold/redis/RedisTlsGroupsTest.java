package io.leasehold.redis;

import static io.leasehold.redis.TopologyBench.nothingIsHeld;
import static io.leasehold.redis.TopologyBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.servers.PortReservation;
import io.leasehold.servers.RedisBinary;
import io.leasehold.servers.RedisServer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests of groups with TLS everywhere: to clients, between their members, and to and from Sentinels. */
@Timeout(180)
@Tag("full")
final class RedisTlsGroupsTest {

    private static final String MASTER = "mymaster";

    @TempDir
    private Path directory;

    private final List<AutoCloseable> open = new ArrayList<>();
    private final TopologyBench bench = new TopologyBench();
    private TestCertificate certificate;

    @BeforeEach
    void begin() throws Exception {
        open.add(bench);
        certificate = new TestCertificate(directory, "127.0.0.1");
    }

    @AfterEach
    void end() throws Exception {
        for (AutoCloseable one : open) {
            one.close();
        }
    }

    private RedisServer start(RedisBinary binary, int port, UnaryOperator<RedisServer.Builder> settings) {
        RedisServer server = RedisUnderTest.start(b -> settings.apply(certificate.served(b.binary(binary), port)));
        open.add(server);
        return server;
    }

    private String uri(String scheme, int port, String path) {
        return scheme + "://127.0.0.1:" + port + path + "?ca=" + certificate.certificate();
    }

    private void areHandedOver(LockClient client, LockClient other, List<RedisServer> masters, String... names)
            throws Exception {
        for (String name : names) {
            Lease held = client.named(name).acquire();
            CompletableFuture<Lease> waiting = other.named(name).acquireAsync();
            until(
                    "it waits",
                    () -> masters.stream()
                            .anyMatch(master -> master.call("KEYS", "*:queued").contains("{" + name + "}")));
            held.close();
            waiting.get(60, TimeUnit.SECONDS).close();
        }
        nothingIsHeld(masters);
    }

    @Test
    void aCluster() throws Exception {
        RedisBinary binary = BundledBinaries.serverWithTls();
        List<RedisServer> masters = new ArrayList<>();
        List<Integer> ports = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            int port = PortReservation.forThisJvm();
            ports.add(port);
            masters.add(start(binary, port, b -> b.config("cluster-enabled yes").config("tls-cluster yes")));
            masters.get(i).call("CLUSTER", "SET-CONFIG-EPOCH", "" + (i + 1));
            masters.get(i).call("CLUSTER", "ADDSLOTSRANGE", "" + i * 5_461, "" + (i == 2 ? 16_383 : i * 5_461 + 5_460));
        }
        for (int i = 1; i < 3; i++) {
            masters.get(i).call("CLUSTER", "MEET", "127.0.0.1", ports.get(0).toString());
        }
        until(
                "they are a Cluster",
                () -> masters.stream()
                        .allMatch(master -> master.call("CLUSTER", "INFO").contains("cluster_slots_ok:16384")
                                && master.call("CLUSTER", "INFO").contains("cluster_known_nodes:3")));
        String uri = uri("rediss-cluster", ports.get(0), "");

        areHandedOver(bench.client(uri), bench.client(uri), masters, "a", "b", "c", "d", "e");

        assertThat(masters)
                .as("each had some of the locks")
                .allMatch(master -> !master.call("KEYS", "*:fence").isBlank());
    }

    @Test
    void aSentinelGroupThatFailsOver() throws Exception {
        RedisBinary binary = BundledBinaries.serverWithTls();
        int masterPort = PortReservation.forThisJvm();
        RedisServer master = start(binary, masterPort, b -> b.config("tls-replication yes"));
        int replicaPort = PortReservation.forThisJvm();
        RedisServer replica = start(
                binary, replicaPort, b -> b.config("tls-replication yes").config("replicaof 127.0.0.1 " + masterPort));
        until("they replicate", () -> replica.call("INFO", "replication").contains("master_link_status:up"));
        int sentinelPort = PortReservation.forThisJvm();
        RedisServer sentinel = start(
                BundledBinaries.sentinelWithTls(),
                sentinelPort,
                b -> b.config("tls-replication yes")
                        .config("sentinel monitor " + MASTER + " 127.0.0.1 " + masterPort + " 1")
                        .config("sentinel down-after-milliseconds " + MASTER + " 1000")
                        .config("sentinel failover-timeout " + MASTER + " 5000"));
        until(
                "the Sentinel knows both",
                () -> sentinel.call("SENTINEL", "REPLICAS", MASTER).contains("" + replicaPort));
        String uri = uri("rediss-sentinel", sentinelPort, "/" + MASTER);
        LockClient client = bench.client(uri);
        LockClient other = bench.client(uri);
        areHandedOver(client, other, List.of(master), "before");

        master.kill();
        until("the replica takes over", () -> replica.call("ROLE").startsWith("master"));
        until(
                "and is named",
                () -> sentinel.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER)
                        .endsWith("" + replicaPort));

        bench.obtainsSoon(uri, client, "free");
        areHandedOver(client, other, List.of(replica), "after");
    }
}
