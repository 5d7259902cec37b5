package io.leasehold.redis;

import static io.leasehold.redis.RepeatedDuties.calls;
import static io.leasehold.redis.RepeatedDuties.hurried;
import static io.leasehold.redis.RepeatedDuties.isHeldByAStranger;
import static io.leasehold.redis.RepeatedDuties.listeners;
import static io.leasehold.redis.RepeatedDuties.listensToSlots;
import static io.leasehold.redis.RepeatedDuties.masterOf;
import static io.leasehold.redis.RepeatedDuties.rejected;
import static io.leasehold.redis.TopologyBench.until;

import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisServer;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.StoreUri;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests that a subscription is made again after each end and after several failures in a row, and is pinged during its
 * whole life.
 */
@Tag("full")
@Timeout(180)
final class RepeatedSubscriptionsTest {

    /** Its waiter retries from time to time, so that the missing subscription would go unnoticed. */
    @Test
    void aSubscriptionIsMadeAgainEachTimeItEnds() {
        try (RedisServer server = RedisUnderTest.start(b -> b);
                TopologyBench bench = new TopologyBench()) {
            isHeldByAStranger(server, "busy");
            CompletableFuture<Lease> waiter =
                    bench.client(server.uri()).named("busy").acquireAsync();
            until("it listens", () -> listeners(server) == 1);
            for (int i = 1; i <= 4; i++) {
                long before = calls(server, "subscribe");
                server.call("CLIENT", "KILL", "TYPE", "pubsub");
                until("it listens again, time " + i, () -> calls(server, "subscribe") > before);
                until("at one connection", () -> listeners(server) == 1);
            }
            waiter.cancel(false);
        }
    }

    @Test
    void aSubscriptionThatFailsSeveralTimesInARowIsMade() throws Exception {
        try (RedisServer server = RedisUnderTest.start(b -> b);
                TcpProxy proxy = TcpProxy.to(server.port());
                TopologyBench bench = new TopologyBench()) {
            isHeldByAStranger(server, "busy");
            CompletableFuture<Lease> waiter = bench.client("redis://127.0.0.1:" + proxy.port())
                    .named("busy")
                    .acquireAsync();
            until("it listens", () -> listeners(server) == 1);
            proxy.refuseConnections();
            server.call("CLIENT", "KILL", "TYPE", "pubsub");
            // This is long enough for several tries.
            TimeUnit.SECONDS.sleep(2);
            proxy.acceptConnections();
            until("it listens again", () -> listeners(server) == 1);
            waiter.cancel(false);
        }
    }

    @Test
    void aSubscriptionThatIsNotPermittedIsAskedForUntilItIs() throws Exception {
        String rights = "on >secret resetchannels " + RedisErrors.RIGHTS + " -subscribe";
        try (RedisServer server = RedisUnderTest.start(b -> b.user("app", rights));
                LockClient client = hurried("redis://app:secret@127.0.0.1:" + server.port())) {
            isHeldByAStranger(server, "busy");
            CompletableFuture<Lease> waiter = client.named("busy")
                    .with(o -> o.recheck(Duration.ofMillis(200)))
                    .acquireAsync();
            until("it was refused three times", () -> rejected(server, "subscribe") >= 3);
            server.call("ACL", "SETUSER", "app", "+subscribe");
            until("it listens", () -> listeners(server) == 1);
            server.call("DEL", "lock:{busy}");
            waiter.get(60, TimeUnit.SECONDS).close();
        }
    }

    @Test
    void aSubscriptionOfAClusterThatIsNotPermittedIsAskedForUntilItIs() {
        String rights = "on >secret resetchannels "
                + Deployment.parse(StoreUri.parse("redis-cluster://h")).rights() + " -ssubscribe";
        try (RedisCluster cluster = Groups.cluster(0, node -> node.user("app", rights));
                LockClient client = hurried(cluster.uri().replace("redis-cluster://", "redis-cluster://app:secret@"))) {
            RedisServer master = masterOf(cluster, "busy");
            isHeldByAStranger(master, "busy");
            CompletableFuture<Lease> waiter = client.named("busy").acquireAsync();
            until("it was refused three times", () -> rejected(master, "ssubscribe") >= 3);
            master.call("ACL", "SETUSER", "app", "+ssubscribe");
            until("it listens", () -> listensToSlots(master));
            waiter.cancel(false);
        }
    }

    /** A connection whose peer has silently gone is detected at any time, not only at the start. */
    @Test
    void aSubscriptionIsPingedAgainAndAgain() {
        try (RedisServer server = RedisUnderTest.start(b -> b);
                TcpProxy proxy = TcpProxy.to(server.port());
                LockClient client = hurried("redis://127.0.0.1:" + proxy.port())) {
            isHeldByAStranger(server, "busy");
            CompletableFuture<Lease> waiter = client.named("busy").acquireAsync();
            until("it was pinged five times", () -> calls(server, "ping") >= 5);
            for (int i = 1; i <= 2; i++) {
                long before = calls(server, "subscribe");
                proxy.halfOpenForClients();
                until("it listens again, time " + i, () -> calls(server, "subscribe") > before);
                long pings = calls(server, "ping");
                until("it is pinged again, time " + i, () -> calls(server, "ping") >= pings + 3);
            }
            waiter.cancel(false);
        }
    }

    @Test
    void theSubscriptionsOfAClusterArePingedAndMadeAgainEachTimeTheyEnd() {
        try (RedisCluster cluster = Groups.cluster(0, node -> node);
                LockClient client = hurried(cluster.uri())) {
            List<CompletableFuture<Lease>> waiters = new ArrayList<>();
            for (int i = 0; i < 12; i++) {
                String name = "busy-" + i;
                isHeldByAStranger(masterOf(cluster, name), name);
                waiters.add(client.named(name).acquireAsync());
            }
            until("it listens at each", () -> cluster.nodes().stream().allMatch(RepeatedDuties::listensToSlots));
            for (int i = 1; i <= 3; i++) {
                for (RedisServer node : cluster.nodes()) {
                    long before = calls(node, "ssubscribe");
                    node.call("CLIENT", "KILL", "TYPE", "pubsub");
                    until("it listens again, time " + i, () -> calls(node, "ssubscribe") > before);
                    long pings = calls(node, "ping");
                    until("it is pinged, time " + i, () -> calls(node, "ping") >= pings + 3);
                }
            }
            waiters.forEach(waiter -> waiter.cancel(false));
        }
    }
}
