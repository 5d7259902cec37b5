package io.leasehold.verify.chaos;

import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisSentinelGroup;
import io.leasehold.servers.RedisServer;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * The servers of a store, and the way in which a client reaches them through its own proxies.
 *
 * @param name the store's name, with its version
 * @param members the servers that faults may hit
 * @param ports the ports to which each client has a proxy of its own; none if the servers report each other's addresses
 *     to clients
 * @param uri the store URI for a client whose proxies have these ports
 * @param rawUris the same for a control, which only supports Redis
 * @param stop ends them
 */
record ServerGroup(
        String name,
        List<ServerUnderTest> members,
        List<Integer> ports,
        Function<List<Integer>, String> uri,
        Function<List<Integer>, String> rawUris,
        AutoCloseable stop)
        implements AutoCloseable {

    private static final int NODES = 5;

    static ServerGroup of(ServerUnderTest server) {
        Function<List<Integer>, String> uri = ports -> server.uri(ports.get(0));
        return new ServerGroup(server.name(), List.of(server), List.of(server.port()), uri, uri, server);
    }

    /** A primary with two replicas, and three Sentinels, which are not harmed. */
    static ServerGroup sentinel() {
        RedisSentinelGroup group = RedisSentinelGroup.start(2, RedisServer.Builder::durable);
        return direct("sentinel over ", group.servers(), group.uri(), group);
    }

    /** Three masters with a replica each. */
    static ServerGroup cluster() {
        RedisCluster group = RedisCluster.start(3, 1, RedisServer.Builder::durable);
        return direct("cluster of ", group.nodes(), group.uri(), group);
    }

    private static ServerGroup direct(String what, List<RedisServer> servers, String uri, AutoCloseable stop) {
        List<ServerUnderTest> members = new ArrayList<>();
        servers.forEach(server -> members.add(ServerUnderTest.Started.redis(server)));
        String name = what + members.size() + " durable " + members.get(0).name();
        return new ServerGroup(name, List.copyOf(members), List.of(), ports -> uri, ports -> uri, stop);
    }

    /** Five durable Redis servers. Their names are the same for all clients, whatever their proxies. */
    static ServerGroup redlock(long maxTtlMillis) {
        List<ServerUnderTest> nodes = new ArrayList<>();
        try {
            for (int i = 0; i < NODES; i++) {
                nodes.add(ServerUnderTest.Started.redis(
                        RedisServer.builder().durable().start()));
            }
        } catch (RuntimeException e) {
            nodes.forEach(ServerUnderTest::close);
            throw e;
        }
        return new ServerGroup(
                "redlock of " + NODES + " durable " + nodes.get(0).name(),
                List.copyOf(nodes),
                nodes.stream().map(ServerUnderTest::port).toList(),
                ports -> {
                    StringBuilder uri = new StringBuilder("redlock:?maxTtl=" + maxTtlMillis + "ms");
                    for (int i = 0; i < ports.size(); i++) {
                        String node = "redis://127.0.0.1:" + ports.get(i) + "?name=node-" + i + "&durable=true";
                        uri.append("&node=").append(URLEncoder.encode(node, StandardCharsets.UTF_8));
                    }
                    return uri.toString();
                },
                ports -> String.join(
                        ",",
                        ports.stream().map(port -> "redis://127.0.0.1:" + port).toList()),
                () -> nodes.forEach(ServerUnderTest::close));
    }

    /** The remains in the store, read by its own tools. */
    Remains remains() {
        return members.size() == 1 ? members.get(0).remains() : Remains.UNSEEN;
    }

    /** Whether a proxy can distinguish requests, in order to lose single ones. */
    boolean speaksResp() {
        return !members.isEmpty() && members.stream().allMatch(ServerUnderTest::speaksResp);
    }

    @Override
    public void close() throws Exception {
        stop.close();
    }
}
