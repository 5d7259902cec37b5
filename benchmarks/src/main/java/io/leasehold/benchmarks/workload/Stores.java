package io.leasehold.benchmarks.workload;

import static io.leasehold.benchmarks.peer.PeerKind.CURATOR;
import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD;

import io.leasehold.benchmarks.child.Order;
import io.leasehold.benchmarks.child.Worker;
import io.leasehold.benchmarks.measure.Drive;
import io.leasehold.benchmarks.measure.Figure;
import io.leasehold.benchmarks.measure.Load;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.measure.Threads;
import io.leasehold.benchmarks.peer.Peer;
import io.leasehold.benchmarks.peer.PeerKind;
import io.leasehold.servers.ServerUnavailableException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.function.Supplier;

/** The loads of a, c and e over each store of Leasehold; over ZooKeeper next to Curator. */
final class Stores implements Workload {

    private static final int HOT_THREADS = 8;
    private static final int PROCESSES = 2;

    private final String id;
    private final String title;

    private Stores(String id, String title) {
        this.id = id;
        this.title = title;
    }

    static Workload pairs() {
        return new Stores("stores", "1 thread, distinct names, acquire and release, over each store");
    }

    static Workload hotLock() {
        return new Stores("stores-c", "one hot lock, " + HOT_THREADS + " threads, one JVM, over each store");
    }

    static Workload handOvers() {
        return new Stores("stores-e", "unlock until the waiter's lock returns, in another JVM, over each store");
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public String title() {
        return title;
    }

    @Override
    public boolean isSeries() {
        return true;
    }

    @Override
    public void run(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        for (StoreKind store : StoreKind.values()) {
            if (!plan.has(store.label())) {
                continue;
            }
            List<PeerKind> kinds =
                    store == StoreKind.ZOOKEEPER ? plan.among(LEASEHOLD, CURATOR) : plan.among(LEASEHOLD);
            try (StoreKind.Started started = store.start()) {
                switch (id) {
                    case "stores" -> drive(plan, store, started.uri(), kinds, 1, Pairs::names, samples);
                    case "stores-c" ->
                        drive(plan, store, started.uri(), kinds, HOT_THREADS, thread -> () -> "hot", samples);
                    default -> handOver(plan, store, started.uri(), kinds, samples);
                }
            } catch (ServerUnavailableException e) {
                System.err.println(id + ", " + store.label() + ": left out: " + e.getMessage());
            }
        }
    }

    private void drive(
            Plan plan,
            StoreKind store,
            String uri,
            List<PeerKind> kinds,
            int threads,
            IntFunction<Supplier<String>> names,
            Consumer<Sample> samples)
            throws InterruptedException {
        Map<PeerKind, Peer> peers = new EnumMap<>(PeerKind.class);
        try {
            kinds.forEach(kind -> peers.put(kind, kind.open(uri, Stage.TTL)));
            Rounds.run(plan, kinds, samples, (kind, round) -> {
                Drive drive = new Drive(Objects.requireNonNull(peers.get(kind)), threads, Threads.platform());
                Load load = drive.run(names, Drive.soonAtNanos(1), plan.window().toNanos());
                return new Sample(id, store.label(), kind, round, Sample.pairs(load), Map.of());
            });
        } finally {
            peers.values().forEach(Peer::close);
        }
    }

    private void handOver(Plan plan, StoreKind store, String uri, List<PeerKind> kinds, Consumer<Sample> samples)
            throws InterruptedException {
        if (store == StoreKind.MEMORY) {
            return;
        }
        List<Worker> workers = new ArrayList<>();
        try {
            for (int i = 0; i < PROCESSES; i++) {
                workers.add(new Worker(uri));
            }
            for (Worker worker : workers) {
                worker.awaitReady();
            }
            long ttlMillis = Stage.TTL.toMillis();
            for (PeerKind kind : kinds) {
                for (Worker worker : workers) {
                    worker.send(new Order(Order.Verb.ONCE, kind, ttlMillis, "connect", 1, System.nanoTime(), 0));
                    worker.answer();
                }
            }
            Rounds.run(plan, kinds, samples, (kind, round) -> {
                Map<Figure, Double> figures =
                        HandOvers.play(workers, kind, ttlMillis, plan.window()).figures();
                return new Sample(id, store.label(), kind, round, figures, Map.of());
            });
        } finally {
            workers.forEach(Worker::close);
        }
    }
}
