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

/** A server, the peers in this JVM and the child JVMs of one workload; {@link #close} ends all of them. */
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

    /** Opens a server without persistence, with the default ttl. */
    static Stage open() {
        return new Stage(RedisServer.start(), TTL);
    }

    static Stage open(Duration ttl) {
        return new Stage(RedisServer.start(), ttl);
    }

    /** Opens a server that syncs to disk before every reply. */
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

    /** Returns this number of child JVMs; starts more if necessary. */
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

    /** Connects each child to each peer, so that no window includes that cost. */
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
