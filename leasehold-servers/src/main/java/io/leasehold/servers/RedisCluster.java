package io.leasehold.servers;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/**
 * A Redis Cluster: masters that share the 16,384 slots evenly, each with the same number of replicas.
 *
 * <p>When {@link #start} returns every node calls the cluster healthy, knows all others, and replicas have their links. A node
 * that does not answer for {@link #NODE_TIMEOUT} counts as dead. Each node is a {@link RedisServer}; one that is restarted
 * empty has forgotten the cluster too. Safe for use by any thread.
 */
public final class RedisCluster implements AutoCloseable {
    /** How long a node may be silent before the others count it as dead. */
    public static final Duration NODE_TIMEOUT = Duration.ofSeconds(1);

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int SLOTS = 16_384;

    private final List<RedisServer> nodes;
    private final int masters;

    private RedisCluster(List<RedisServer> nodes, int masters) {
        this.nodes = List.copyOf(nodes);
        this.masters = masters;
    }

    /** Three masters without replicas. */
    public static RedisCluster start() {
        return start(3, 0, node -> node);
    }

    /**
     * A cluster of at least three masters.
     *
     * @param settings applied to the builder of every node; ports are chosen freely
     */
    public static RedisCluster start(int masters, int replicasEach, UnaryOperator<RedisServer.Builder> settings) {
        if (masters < 3 || replicasEach < 0) {
            throw new IllegalArgumentException(
                    "a cluster needs at least 3 masters and no negative number of replicas, not " + masters + " and "
                            + replicasEach);
        }
        RedisProcess.Credentials launcher = RedisProcess.Credentials.random();
        List<RedisServer> nodes = new ArrayList<>();
        try {
            for (int i = 0; i < masters * (1 + replicasEach); i++) {
                nodes.add(settings.apply(RedisServer.builder())
                        .port(0)
                        .launcher(launcher)
                        .config("cluster-enabled yes")
                        .config("cluster-node-timeout " + NODE_TIMEOUT.toMillis())
                        .start());
            }
            RedisCluster cluster = new RedisCluster(nodes, masters);
            cluster.form();
            return cluster;
        } catch (RuntimeException e) {
            nodes.forEach(RedisServer::close);
            throw e;
        }
    }

    /** All nodes: first those that started as masters, in the order of their slots. */
    public List<RedisServer> nodes() {
        return nodes;
    }

    /** The node that started as the master of a slot. */
    public RedisServer masterOf(int slot) {
        if (slot < 0 || slot >= SLOTS) {
            throw new IllegalArgumentException("a slot is 0 to " + (SLOTS - 1) + ", not " + slot);
        }
        return IntStream.range(0, masters)
                .filter(i -> slot < firstSlot(i + 1))
                .mapToObj(nodes::get)
                .findFirst()
                .orElseThrow();
    }

    /** {@code redis-cluster://node,node,…}; without passwords. */
    public String uri() {
        return "redis-cluster://" + RedisReplicated.addresses(nodes);
    }

    @Override
    public void close() {
        nodes.forEach(RedisServer::close);
    }

    private void form() {
        for (int i = 0; i < masters; i++) {
            // Different epochs from the start, so that the masters need not settle whose comes first.
            nodes.get(i).call("CLUSTER", "SET-CONFIG-EPOCH", Integer.toString(i + 1));
            nodes.get(i).call(addSlots(firstSlot(i), firstSlot(i + 1)));
        }
        for (RedisServer node : nodes.subList(1, nodes.size())) {
            node.call(
                    "CLUSTER",
                    "MEET",
                    "127.0.0.1",
                    Integer.toString(nodes.get(0).port()));
        }
        awaitAll("knowledge of all nodes", node -> knownNodes(node) == nodes.size());
        for (int i = masters; i < nodes.size(); i++) {
            nodes.get(i).call("CLUSTER", "REPLICATE", nodes.get(i % masters).call("CLUSTER", "MYID"));
        }
        for (RedisServer replica : nodes.subList(masters, nodes.size())) {
            replica.await("the link to its master", PATIENCE, RedisReplicated::isLinked);
        }
        awaitAll("a healthy cluster", RedisCluster::isHealthy);
    }

    private void awaitAll(String what, Predicate<RedisServer> condition) {
        nodes.forEach(node -> node.await(what, PATIENCE, condition));
    }

    private static boolean isHealthy(RedisServer node) {
        String info = node.call("CLUSTER", "INFO");
        return info.contains("cluster_state:ok") && info.contains("cluster_slots_ok:" + SLOTS);
    }

    // Nodes that are still shaking hands are not known yet.
    private static long knownNodes(RedisServer node) {
        return node.call("CLUSTER", "NODES")
                .lines()
                .filter(line ->
                        line.contains("connected") && !line.contains("disconnected") && !line.contains("handshake"))
                .count();
    }

    private int firstSlot(int master) {
        return (int) ((long) SLOTS * master / masters);
    }

    private static String[] addSlots(int from, int to) {
        List<String> command = new ArrayList<>(List.of("CLUSTER", "ADDSLOTS"));
        IntStream.range(from, to).mapToObj(Integer::toString).forEach(command::add);
        return command.toArray(String[]::new);
    }
}
