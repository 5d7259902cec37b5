package io.leasehold.redis;

import static io.leasehold.redis.NodeBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerException;
import io.leasehold.spi.StoreUri;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the subscriptions of a Cluster's waiters: each is made again, with a bounded number of tries. */
@Tag("full")
@Timeout(180)
final class ClusterSubscriptionsTest {

    private static LockClient client(String uri) {
        return Leasehold.builder()
                .store(uri)
                .defaults(LockOptions.defaults().ttl(Duration.ofMinutes(5)).recheck(Duration.ofMillis(200)))
                .connect();
    }

    private static long calls(RedisServer server, String command, String label) {
        Matcher calls = Pattern.compile("cmdstat_" + Pattern.quote(command) + ":.*" + label + "=(\\d+)")
                .matcher(server.call("INFO", "commandstats"));
        return calls.find() ? Long.parseLong(calls.group(1)) : 0;
    }

    private static boolean isSubscribed(RedisServer server) {
        return holds(() -> !server.call("PUBSUB", "SHARDCHANNELS").isBlank());
    }

    /** Returns false if the check throws: a node that has just come back refuses requests for a while. */
    private static boolean holds(BooleanSupplier condition) {
        try {
            return condition.getAsBoolean();
        } catch (ServerException notYet) {
            return false;
        }
    }

    @Test
    void aWaiterIsSubscribedAgainEachTimeItsMasterWasDown() throws Exception {
        try (RedisCluster cluster = Groups.cluster(0, node -> node.appendOnly("always"));
                LockClient holder = client(cluster.uri());
                LockClient waiting = client(cluster.uri())) {
            int slot = Integer.parseInt(cluster.nodes().get(0).call("CLUSTER", "KEYSLOT", "lock:{busy}"));
            RedisServer master = cluster.masterOf(slot);
            holder.named("busy").acquire();
            CompletableFuture<Lease> waiter = waiting.named("busy").acquireAsync();
            until("it is subscribed", () -> isSubscribed(master));
            for (int i = 0; i < 4; i++) {
                master.kill();
                // This is long enough for refused tries to connect.
                TimeUnit.MILLISECONDS.sleep(700);
                master.restart();
                until("it is subscribed again, time " + i, () -> isSubscribed(master));
            }
            until(
                    "the Cluster is whole",
                    () -> holds(() -> master.call("DEL", "lock:{busy}").equals("1")));
            waiter.get(60, TimeUnit.SECONDS).close();
        }
    }

    @Test
    void aMissingRightIsNotAskedForWithoutEnd() throws Exception {
        String rights = "on >secret resetchannels "
                + Deployment.parse(StoreUri.parse("redis-cluster://h")).rights() + " -ssubscribe";
        int waiters = 10;
        try (RedisCluster cluster = Groups.cluster(0, node -> node.user("app", rights))) {
            String uri = cluster.uri().replace("redis-cluster://", "redis-cluster://app:secret@");
            try (LockClient holder = client(uri);
                    LockClient waiting = client(uri)) {
                List<Lease> leases = new ArrayList<>();
                List<CompletableFuture<Lease>> all = new ArrayList<>();
                for (int i = 0; i < waiters; i++) {
                    leases.add(holder.named("busy:" + i).acquire());
                    all.add(waiting.named("busy:" + i).acquireAsync());
                }
                until("each was refused", () -> total(cluster, "ssubscribe", "rejected_calls") >= waiters);
                long slotsBefore = total(cluster, "cluster|slots", "calls");
                TimeUnit.SECONDS.sleep(5);

                assertThat(total(cluster, "ssubscribe", "rejected_calls"))
                        .as("once for each slot")
                        .isEqualTo(waiters);
                assertThat(total(cluster, "cluster|slots", "calls") - slotsBefore)
                        .as("the table is not read for it")
                        .isLessThan(30);
                leases.forEach(Lease::close);
                for (CompletableFuture<Lease> one : all) {
                    one.get(60, TimeUnit.SECONDS).close();
                }
            }
        }
    }

    private static long total(RedisCluster cluster, String command, String label) {
        return cluster.nodes().stream()
                .mapToLong(node -> calls(node, command, label))
                .sum();
    }
}
