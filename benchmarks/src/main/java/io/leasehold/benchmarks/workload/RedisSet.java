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

/** Independent Redis servers without a quarantine. */
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

    /** Starts servers that each sync to disk before every reply. */
    static RedisSet durable(int count) {
        return new RedisSet(count, true);
    }

    /** The URI with the default time limits. */
    String uri() {
        return uri;
    }

    /** The URI for a machine so busy that a server may exceed a node's time limit. */
    String patient() {
        return uri + "&nodeTimeout=2s";
    }

    List<String> servers() {
        return servers.stream().map(RedisServer::uri).toList();
    }

    /** Stops the last servers; they keep their connections. */
    void freeze(int count) {
        for (int i = 0; i < count; i++) {
            servers.get(--answering).freeze();
        }
    }

    /** Kills the last servers; new connections are refused. */
    void kill(int count) {
        for (int i = 0; i < count; i++) {
            servers.get(--answering).kill();
        }
    }

    /** Returns the work of the servers that reply. */
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
