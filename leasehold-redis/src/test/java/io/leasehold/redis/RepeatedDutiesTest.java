package io.leasehold.redis;

import static io.leasehold.redis.RepeatedDuties.LONG;
import static io.leasehold.redis.RepeatedDuties.calls;
import static io.leasehold.redis.RepeatedDuties.hurried;
import static io.leasehold.redis.RepeatedDuties.isHeldByAStranger;
import static io.leasehold.redis.RepeatedDuties.listensToSlots;
import static io.leasehold.redis.RepeatedDuties.masterOf;
import static io.leasehold.redis.RepeatedDuties.rejected;
import static io.leasehold.redis.TopologyBench.obtainsSoon;
import static io.leasehold.redis.TopologyBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Credentials;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.ReleaseOutcome;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.node.RedisNode;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisReplicated;
import io.leasehold.servers.RedisSentinelGroup;
import io.leasehold.servers.RedisServer;
import io.leasehold.simulator.proxy.ScheduledLoss;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreUri;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests that the repeated duties of a client continue after one failure and after several in a row. The test uses the
 * server's counts, since waiters that retry anyway would hide most missing duties.
 */
@Tag("full")
@Timeout(180)
final class RepeatedDutiesTest {

    /** The right to read the table is missing at all nodes for a while, and a slot moves meanwhile. */
    @Test
    void theTableOfAClusterIsReadAgainAfterItCouldNotBeReadSeveralTimes() throws Exception {
        String rights = "on >secret resetchannels "
                + Deployment.parse(StoreUri.parse("redis-cluster://h")).rights();
        try (RedisCluster cluster = Groups.cluster(0, node -> node.user("app", rights));
                LockClient client = hurried(cluster.uri().replace("redis-cluster://", "redis-cluster://app:secret@"))) {
            SlotMove move = SlotMove.of(cluster, "lock:{busy}");
            isHeldByAStranger(move.from(), "busy");
            CompletableFuture<Lease> waiter = client.named("busy").acquireAsync();
            until("it listens", () -> listensToSlots(move.from()));
            cluster.nodes().forEach(node -> node.call("ACL", "SETUSER", "app", "-cluster|slots"));
            move.begin();
            move.end();
            for (RedisServer node : cluster.nodes()) {
                long before = rejected(node, "cluster|slots");
                until("it was refused five times", () -> rejected(node, "cluster|slots") >= before + 5);
            }
            cluster.nodes().forEach(node -> node.call("ACL", "SETUSER", "app", "+cluster|slots"));

            until("it listens where the slot is now", () -> listensToSlots(move.to()));
            for (int i = 1; i <= 3; i++) {
                long before = calls(move.to(), "cluster|slots");
                until("the table is read again, time " + i, () -> calls(move.to(), "cluster|slots") > before);
            }
            waiter.cancel(false);
        }
    }

    /** A replica takes over that the client cannot reach yet; the client retries until it can. */
    @Test
    void aNewMasterOfAClusterThatCannotBeReachedIsTriedAgain() throws Exception {
        List<TcpProxy> proxies = new ArrayList<>();
        try (RedisCluster cluster = Groups.cluster(1, node -> node);
                TopologyBench bench = new TopologyBench()) {
            cluster.nodes().forEach(node -> {
                TcpProxy proxy = TcpProxy.to(node.port());
                proxies.add(proxy);
                node.call("CONFIG", "SET", "cluster-announce-port", Integer.toString(proxy.port()));
            });
            until(
                    "all nodes name the proxies",
                    () -> cluster.nodes().stream()
                            .map(node -> node.call("CLUSTER", "NODES"))
                            .allMatch(nodes ->
                                    proxies.stream().allMatch(proxy -> nodes.contains(":" + proxy.port() + "@"))));
            LockClient client = bench.client(cluster.uri());
            obtainsSoon(client, "free");
            RedisServer former = masterOf(cluster, "free");
            List<RedisServer> replicas = cluster.nodes().stream()
                    .filter(node -> node.call("ROLE").startsWith("slave"))
                    .toList();
            replicas.forEach(node -> proxies.get(cluster.nodes().indexOf(node)).refuseConnections());
            former.kill();
            until(
                    "a replica has taken over",
                    () -> replicas.stream().anyMatch(node -> node.call("ROLE").startsWith("master")));
            // This is long enough for several tries.
            TimeUnit.SECONDS.sleep(2);
            replicas.forEach(node -> proxies.get(cluster.nodes().indexOf(node)).acceptConnections());

            obtainsSoon(client, "free");
        } finally {
            proxies.forEach(TcpProxy::close);
        }
    }

    @Test
    void sentinelsAreListenedToAndAskedAgainEachTimeAConnectionEnds() throws Exception {
        List<TcpProxy> proxies = new ArrayList<>();
        try (RedisSentinelGroup group = Groups.sentinel(1, member -> member);
                TopologyBench bench = new TopologyBench()) {
            group.sentinels().forEach(sentinel -> proxies.add(TcpProxy.to(sentinel.port())));
            // On a busy machine a second is too short.
            group.sentinels()
                    .forEach(sentinel -> sentinel.call(
                            "SENTINEL", "SET", RedisSentinelGroup.MASTER_NAME, "down-after-milliseconds", "60000"));
            LockClient client = bench.client("redis-sentinel://"
                    + String.join(
                            ",",
                            proxies.stream()
                                    .map(proxy -> "127.0.0.1:" + proxy.port())
                                    .toList())
                    + "/" + RedisSentinelGroup.MASTER_NAME);
            until("each is listened to", () -> proxies.stream().allMatch(RepeatedDutiesTest::isListenedTo));
            for (int i = 1; i <= 3; i++) {
                for (TcpProxy proxy : proxies) {
                    long before = proxy.connections().accepted();
                    proxy.resetAll();
                    until(
                            "it is listened to and asked again, time " + i,
                            () -> proxy.connections().accepted() >= before + 2);
                    until("nothing else is left", () -> isListenedTo(proxy));
                }
            }
            proxies.forEach(TcpProxy::refuseConnections);
            proxies.forEach(TcpProxy::resetAll);
            group.primary().call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
            // This is long enough for several tries.
            TimeUnit.SECONDS.sleep(3);
            proxies.forEach(TcpProxy::acceptConnections);

            obtainsSoon(client, "free");
            until("each is listened to again", () -> proxies.stream().allMatch(RepeatedDutiesTest::isListenedTo));
        } finally {
            proxies.forEach(TcpProxy::close);
        }
    }

    private static boolean isListenedTo(TcpProxy proxy) {
        return proxy.connections().open() == 1;
    }

    /** The records of a holder; each is kept for three intervals. */
    @Test
    void theRecordOfAClientIsKeptThoughSomeAreLost() throws Exception {
        try (RedisServer server = RedisUnderTest.start(b -> b);
                TcpProxy proxy = TcpProxy.to(server.port());
                LockClient client = Leasehold.builder()
                        .store("redis://127.0.0.1:" + proxy.port())
                        .defaults(LockOptions.defaults().ttl(LONG))
                        .connect();
                Lease lease = client.named("held").acquire()) {
            String key = "lock:client:" + client.holderId();
            until("it is there", () -> server.call("EXISTS", key).equals("1"));
            List<ScheduledLoss> losses = List.of(
                    proxy.loseNextRequest(request -> request.contains(key)),
                    proxy.loseNextReplyTo(request -> request.contains(key)));
            until("two were lost", () -> losses.stream().allMatch(ScheduledLoss::happened));
            server.call("DEL", key);

            until("it is there again", () -> server.call("EXISTS", key).equals("1"));
            assertThat(lease.isValid()).isTrue();
        }
    }

    /**
     * Servers without sharded channels send a waiter no message when a slot moves. The release, which is repeated until
     * the move is over, serves the waiter.
     */
    @Test
    void aReleaseDuringAMoveIsRepeatedUntilItsWaitersAreServed() throws Exception {
        try (RedisCluster cluster = Groups.cluster(0, node -> node.binary(BundledBinaries.oldestServer()));
                LockClient client = patient(cluster.uri());
                LockClient other = patient(cluster.uri())) {
            Lease held = client.named("busy").acquire();
            CompletableFuture<Lease> waiter = other.named("busy").acquireAsync();
            SlotMove move = SlotMove.of(cluster, "lock:{busy}");
            until(
                    "it waits",
                    () -> move.from().call("EXISTS", "lock:{busy}:queued").equals("1"));
            move.begin();
            move.carry(2);
            assertThat(held.release()).isEqualTo(ReleaseOutcome.RELEASED);
            // This is long enough for several tries.
            TimeUnit.SECONDS.sleep(1);
            assertThat(waiter).isNotDone();

            move.end();

            waiter.get(60, TimeUnit.SECONDS).close();
        }
    }

    private static LockClient patient(String uri) {
        return Leasehold.builder()
                .store(uri)
                .defaults(LockOptions.defaults().ttl(LONG).recheck(LONG))
                .connect();
    }

    /**
     * A link that waits for replicas has two connections: here the first one ends while the second one is being opened.
     */
    @Test
    void aLinkThatHasEndedBeforeItWasWholeIsMadeAgain() {
        try (RedisReplicated group = Groups.replicated(1);
                TopologyBench bench = new TopologyBench()) {
            RedisServer primary = group.primary();
            primary.call("ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all");
            AtomicInteger asked = new AtomicInteger();
            LockClient client = bench.client("redis://127.0.0.1:" + primary.port() + "?waitReplicas=1", () -> {
                if (asked.incrementAndGet() == 2) {
                    primary.call("CLIENT", "KILL", "USER", "app");
                    // Wait until the client has noticed it.
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(500));
                }
                return Credentials.of("app", "secret");
            });

            obtainsSoon(client, "free");
            assertThat(asked.get()).isGreaterThan(2);
        }
    }

    /** The credentials never arrive, so no subscription is made and none fails. */
    @Test
    void aRequestThatMayWaitIsAnsweredThoughASubscriptionNeverComes() throws Exception {
        CountDownLatch over = new CountDownLatch(1);
        AtomicInteger asked = new AtomicInteger();
        WatchedRuntime runtime =
                new WatchedRuntime(new SystemLockRuntime(), delay -> delay < TimeUnit.SECONDS.toNanos(2));
        try (RedisServer server = RedisUnderTest.start(b -> b)) {
            server.call("ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all");
            isHeldByAStranger(server, "busy");
            RedisNode node = RedisStore.at(server.uri())
                    .credentials(() -> {
                        if (asked.incrementAndGet() == 2) {
                            over.await();
                        }
                        return Credentials.of("app", "secret");
                    })
                    .openNode(runtime);
            try {
                AcquireRequest request = AcquireRequest.exclusive(
                                List.of(LockName.exactly("busy")),
                                OwnerToken.draw(runtime),
                                "host/1/test",
                                TimeUnit.SECONDS.toNanos(300),
                                TimeUnit.SECONDS.toNanos(1))
                        .waiting(TimeUnit.SECONDS.toNanos(60));
                NodeReply reply = node.acquire(new Ballot(request, runtime.wallMillis() * 1_000 + 1_000_000, 1))
                        .get(60, TimeUnit.SECONDS);
                assertThat(reply)
                        .isInstanceOfSatisfying(
                                NodeReply.Held.class,
                                held -> assertThat(held.queued()).isFalse());
            } finally {
                over.countDown();
                node.close();
            }
        } finally {
            runtime.close();
        }
    }
}
