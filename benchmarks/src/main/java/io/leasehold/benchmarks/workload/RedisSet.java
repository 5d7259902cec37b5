package io.leasehold.benchmarks.workload;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.benchmarks.measure.ServerMeter;
import io.leasehold.benchmarks.measure.ServerUse;
import io.leasehold.servers.RedisServer;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Redis servers that are independent of each other, ready to be asked: nobody waits out a quarantine. */
final class RedisSet implements AutoCloseable {

    private final List<RedisServer> servers = new ArrayList<>();
    private final String uri;
    private int answering;

    private RedisSet(int count, boolean durable) {
        for (int i = 0; i < count; i++) {
            servers.add(durable ? RedisServer.builder().durable().start() : RedisServer.start());
        }
        answering = count;
        String nodes = servers.stream()
                .map(server -> "node="
                        + URLEncoder.encode(server.uri() + (durable ? "?durable=true" : ""), StandardCharsets.UTF_8))
                .collect(Collectors.joining("&"));
        uri = "redlock:?maxTtl=30s&" + nodes;
        try (LockClient client = Leasehold.connect(patient())) {
            client.admin().declareNewNodes();
        }
    }

    static RedisSet start(int count) {
        return new RedisSet(count, false);
    }

    /** Each syncs to disk before every answer. */
    static RedisSet durable(int count) {
        return new RedisSet(count, true);
    }

    /** With the default time limits. */
    String uri() {
        return uri;
    }

    /** For a machine so busy that a server may not answer for longer than a node's time limit. */
    String patient() {
        return uri + "&nodeTimeout=2s";
    }

    List<String> servers() {
        return servers.stream().map(RedisServer::uri).toList();
    }

    /** The last ones stop in the midst of what they do, and keep their connections. */
    void freeze(int count) {
        for (int i = 0; i < count; i++) {
            servers.get(--answering).freeze();
        }
    }

    /** The last ones are gone; new connections are refused. */
    void kill(int count) {
        for (int i = 0; i < count; i++) {
            servers.get(--answering).kill();
        }
    }

    /** Returns the work of the servers that answer. */
    ServerUse look() {
        return servers.subList(0, answering).stream()
                .map(server -> new ServerMeter(server).look())
                .reduce(ServerUse.NONE, ServerUse::plus);
    }

    @Override
    public void close() {
        servers.forEach(RedisServer::close);
    }
}
