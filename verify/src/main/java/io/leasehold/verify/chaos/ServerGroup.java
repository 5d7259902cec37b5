package io.leasehold.verify.chaos;

import io.leasehold.servers.RedisServer;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * The servers that make a store, and how a client reaches them through its own ways.
 *
 * @param name of the store, with its version
 * @param members the servers
 * @param uri the store URI of a client whose ways to the members are these ports
 * @param rawUris the same for a control, which knows Redis only
 */
record ServerGroup(
        String name,
        List<ServerUnderTest> members,
        Function<List<Integer>, String> uri,
        Function<List<Integer>, String> rawUris)
        implements AutoCloseable {

    private static final int NODES = 5;

    static ServerGroup of(ServerUnderTest server) {
        Function<List<Integer>, String> uri = ports -> server.uri(ports.get(0));
        return new ServerGroup(server.name(), List.of(server), uri, uri);
    }

    /** Five durable Redis servers. Their names are the same for all clients, whatever way these take. */
    static ServerGroup redlock(long maxTtlMillis) {
        List<ServerUnderTest> nodes = new ArrayList<>();
        try {
            for (int i = 0; i < NODES; i++) {
                nodes.add(new ServerUnderTest.Redis(
                        RedisServer.builder().durable().start()));
            }
        } catch (RuntimeException e) {
            nodes.forEach(ServerUnderTest::close);
            throw e;
        }
        return new ServerGroup(
                "redlock of " + NODES + " durable " + nodes.get(0).name(),
                List.copyOf(nodes),
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
                        ports.stream().map(port -> "redis://127.0.0.1:" + port).toList()));
    }

    List<Integer> ports() {
        return members.stream().map(ServerUnderTest::port).toList();
    }

    boolean speaksResp() {
        return members.stream().allMatch(ServerUnderTest::speaksResp);
    }

    @Override
    public void close() {
        members.forEach(ServerUnderTest::close);
    }
}
