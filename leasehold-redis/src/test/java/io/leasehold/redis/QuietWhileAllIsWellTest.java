package io.leasehold.redis;

import static io.leasehold.redis.TopologyBench.until;

import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisReplicated;
import io.leasehold.servers.RedisSentinelGroup;
import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerException;
import io.leasehold.simulator.proxy.TcpProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests that a client that holds a lock and waits for another sends only its regular requests, even after all its
 * connections have ended and were made again: activity that a fault starts also ends.
 */
@Tag("full")
@Timeout(180)
final class QuietWhileAllIsWellTest {

    private static final Duration LONG = Duration.ofMinutes(10);
    private static final Duration SPAN = Duration.ofSeconds(4);

    /** The clients, which are closed before their servers. */
    private record Clients(List<LockClient> all) implements AutoCloseable {
        Clients() {
            this(new ArrayList<>());
        }

        LockClient client(String uri) {
            LockClient client = Leasehold.connect(uri);
            all.add(client);
            return client;
        }

        @Override
        public void close() {
            all.forEach(LockClient::close);
        }
    }

    private static DistributedLock patient(LockClient client, String name) {
        return client.named(name).with(options -> options.ttl(LONG).recheck(LONG));
    }

    /** Waits for one interval without other requests, so that a slow machine has time to settle. */
    private static void comesToRest(List<RedisServer> servers, Map<String, Long> most) {
        AtomicReference<List<CommandCounts>> last = new AtomicReference<>();
        try {
            until("rest", () -> {
                List<CommandCounts> seen = CommandCounts.during(servers, () -> LockSupport.parkNanos(SPAN.toNanos()));
                last.set(seen);
                return seen.stream()
                        .allMatch(one -> one.connections() == 0
                                && one.calls().entrySet().stream()
                                        .allMatch(call -> call.getValue() <= most.getOrDefault(call.getKey(), 0L)));
            });
        } catch (AssertionError e) {
            throw new AssertionError("in each span of " + SPAN + " there was more than " + most + ": " + last.get(), e);
        }
    }

    private static void endConnections(RedisServer server) {
        server.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
        server.call("CLIENT", "KILL", "TYPE", "pubsub");
    }

    private static boolean isListenedTo(RedisServer server, int listeners) {
        return server.call("CLIENT", "LIST", "TYPE", "PUBSUB")
                        .lines()
                        .filter(line -> line.contains("sub=1"))
                        .count()
                >= listeners;
    }

    /** Every 5 s a ping for each subscription, and every 5 s the record of each client with a hold. */
    private static final Map<String, Long> OF_A_SPAN = Map.of("ping", 4L, "set", 2L);

    private static void aHolderAndAWaiterAreQuiet(String uri, RedisServer server, Map<String, Long> most)
            throws Exception {
        try (Clients clients = new Clients()) {
            Lease held = patient(clients.client(uri), "busy").acquire();
            CompletableFuture<Lease> waiter =
                    patient(clients.client(uri), "busy").acquireAsync();
            until("both listen", () -> isListenedTo(server, 2));
            comesToRest(List.of(server), most);

            endsAndBeginsAnew(List.of(server), "subscribe", 2);

            comesToRest(List.of(server), most);
            held.close();
            waiter.get(60, TimeUnit.SECONDS).close();
        }
    }

    /** Ends all connections and waits until this number of subscriptions is made again. */
    private static void endsAndBeginsAnew(List<RedisServer> servers, String command, int subscriptions) {
        long before = calls(servers, command);
        servers.forEach(QuietWhileAllIsWellTest::endConnections);
        until("all listen again", () -> calls(servers, command) >= before + subscriptions);
    }

    private static long calls(List<RedisServer> servers, String command) {
        return servers.stream()
                .mapToLong(server -> CommandCounts.of(server).of(command))
                .sum();
    }

    @Test
    void atOneServer() throws Exception {
        try (RedisServer server = RedisUnderTest.start(b -> b)) {
            aHolderAndAWaiterAreQuiet(server.uri(), server, OF_A_SPAN);
        }
    }

    @Test
    void atAMasterThatReplicasAcknowledge() throws Exception {
        try (RedisReplicated group = Groups.replicated(1)) {
            Map<String, Long> most = new java.util.HashMap<>(OF_A_SPAN);
            most.put("replconf", 100L);
            aHolderAndAWaiterAreQuiet(group.uri() + "?waitReplicas=1", group.primary(), most);
        }
    }

    /** Sentinels themselves send requests to the master, so this test counts the requests to the Sentinels. */
    @Test
    void atSentinels() throws Exception {
        List<TcpProxy> proxies = new ArrayList<>();
        try (RedisSentinelGroup group = Groups.sentinel(1, member -> member);
                Clients clients = new Clients()) {
            List<String> addresses = new ArrayList<>();
            group.sentinels().forEach(sentinel -> {
                // On a busy machine a second is too short.
                sentinel.call("SENTINEL", "SET", RedisSentinelGroup.MASTER_NAME, "down-after-milliseconds", "60000");
                TcpProxy proxy = TcpProxy.to(sentinel.port());
                proxies.add(proxy);
                addresses.add("127.0.0.1:" + proxy.port());
            });
            String uri = "redis-sentinel://" + String.join(",", addresses) + "/" + RedisSentinelGroup.MASTER_NAME;
            Lease held = patient(clients.client(uri), "busy").acquire();
            CompletableFuture<Lease> waiter =
                    patient(clients.client(uri), "busy").acquireAsync();
            until("both listen", () -> isListenedTo(group.primary(), 2));
            noMoreConnectionsTo(proxies);

            proxies.forEach(TcpProxy::resetAll);
            endsAndBeginsAnew(List.of(group.primary()), "subscribe", 2);

            until(
                    "each listens to each Sentinel",
                    () -> proxies.stream().allMatch(proxy -> proxy.connections().open() == 2));
            noMoreConnectionsTo(proxies);
            held.close();
            waiter.get(60, TimeUnit.SECONDS).close();
        } finally {
            proxies.forEach(TcpProxy::close);
        }
    }

    private static long acceptedBy(List<TcpProxy> proxies) {
        return proxies.stream()
                .mapToLong(proxy -> proxy.connections().accepted())
                .sum();
    }

    private static void noMoreConnectionsTo(List<TcpProxy> proxies) {
        until("no more connections come to the Sentinels", () -> {
            long before = acceptedBy(proxies);
            LockSupport.parkNanos(SPAN.toNanos());
            return acceptedBy(proxies) == before;
        });
    }

    /** The table is read every 10 s, at each master. */
    @Test
    void atACluster() throws Exception {
        Map<String, Long> most = Map.of("ping", 4L, "set", 2L, "cluster|slots", 2L, "cluster|info", 2L);
        try (RedisCluster cluster = Groups.cluster(0, node -> node);
                Clients clients = new Clients()) {
            LockClient holder = clients.client(cluster.uri());
            LockClient waiting = clients.client(cluster.uri());
            List<Lease> held = new ArrayList<>();
            List<CompletableFuture<Lease>> waiters = new ArrayList<>();
            for (int i = 0; i < 12; i++) {
                held.add(patient(holder, "busy-" + i).acquire());
                waiters.add(patient(waiting, "busy-" + i).acquireAsync());
            }
            until("they wait at each node", () -> areWaitedFor(cluster));
            comesToRest(cluster.nodes(), most);

            endsAndBeginsAnew(cluster.nodes(), "ssubscribe", 12);

            comesToRest(cluster.nodes(), most);
            held.forEach(Lease::close);
            for (CompletableFuture<Lease> waiter : waiters) {
                waiter.get(60, TimeUnit.SECONDS).close();
            }
        }
    }

    private static boolean areWaitedFor(RedisCluster cluster) {
        try {
            return cluster.nodes().stream()
                            .mapToLong(node -> node.call("PUBSUB", "SHARDCHANNELS")
                                    .lines()
                                    .filter(line -> !line.isBlank())
                                    .count())
                            .sum()
                    >= 12;
        } catch (ServerException notNow) {
            return false;
        }
    }

    @Test
    void atASetOfNodes() throws Exception {
        try (RedlockServers set = RedlockServers.start(3, "10m");
                Clients clients = new Clients()) {
            set.declareNew();
            String uri = set.uri();
            List<RedisServer> servers = List.of(set.server(0), set.server(1), set.server(2));
            Lease held = patient(clients.client(uri), "busy").acquire();
            CompletableFuture<Lease> waiter =
                    patient(clients.client(uri), "busy").acquireAsync();
            until("both listen everywhere", () -> servers.stream().allMatch(server -> isListenedTo(server, 2)));
            comesToRest(servers, OF_A_SPAN);

            endsAndBeginsAnew(servers, "subscribe", 6);

            comesToRest(servers, OF_A_SPAN);
            held.close();
            waiter.get(60, TimeUnit.SECONDS).close();
        }
    }
}
