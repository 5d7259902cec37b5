package io.leasehold.benchmarks.workload;

import io.leasehold.benchmarks.child.Order;
import io.leasehold.benchmarks.child.Worker;
import io.leasehold.benchmarks.measure.ServerMeter;
import io.leasehold.benchmarks.measure.ServerUse;
import io.leasehold.benchmarks.peer.Peer;
import io.leasehold.benchmarks.peer.PeerKind;
import io.leasehold.servers.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** A server, the peers in this JVM and the child JVMs of one workload; all of it ends with {@link #close}. */
final class Stage implements AutoCloseable {

    static final Duration TTL = Duration.ofSeconds(30);

    private final RedisServer server;
    private final ServerMeter meter;
    private final Duration ttl;
    private final Map<PeerKind, Peer> peers = new EnumMap<>(PeerKind.class);
    private final List<Worker> workers = new ArrayList<>();

    private Stage(RedisServer server, Duration ttl) {
        this.server = server;
        this.meter = new ServerMeter(server);
        this.ttl = ttl;
    }

    /** A server without persistence, and the default ttl. */
    static Stage open() {
        return new Stage(RedisServer.start(), TTL);
    }

    static Stage open(Duration ttl) {
        return new Stage(RedisServer.start(), ttl);
    }

    /** A server that syncs to disk before every answer. */
    static Stage durable() {
        return new Stage(RedisServer.builder().durable().start(), TTL);
    }

    RedisServer server() {
        return server;
    }

    ServerUse look() {
        return meter.look();
    }

    long ttlMillis() {
        return ttl.toMillis();
    }

    Peer peer(PeerKind kind) {
        return peers.computeIfAbsent(kind, missing -> missing.open(server.uri(), ttl));
    }

    /** So many child JVMs; more are started when fewer are there. */
    List<Worker> workers(int count) throws InterruptedException {
        int before = workers.size();
        while (workers.size() < count) {
            workers.add(new Worker(server.uri()));
        }
        for (Worker worker : workers.subList(before, workers.size())) {
            worker.awaitReady();
        }
        return List.copyOf(workers.subList(0, count));
    }

    /** Has each child connect to each peer, so that no window pays for it. */
    void connect(List<Worker> children, List<PeerKind> kinds) throws InterruptedException {
        for (PeerKind kind : kinds) {
            Order once = new Order(Order.Verb.ONCE, kind, ttlMillis(), "connect", 1, System.nanoTime(), 0);
            children.forEach(child -> child.send(once));
            for (Worker child : children) {
                child.answer();
            }
        }
    }

    @Override
    public void close() {
        workers.forEach(Worker::close);
        peers.values().forEach(Peer::close);
        server.close();
    }
}
