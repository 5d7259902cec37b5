package io.leasehold.benchmarks.workload;

import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD;
import static io.leasehold.benchmarks.peer.PeerKind.REDISSON;

import io.leasehold.benchmarks.measure.Figure;
import io.leasehold.benchmarks.measure.ProcessCpu;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.measure.ServerUse;
import io.leasehold.benchmarks.peer.Peer;
import io.leasehold.benchmarks.peer.PeerKind;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** g: many locks are held for several ttls, and only renewed; measures losses and the cost of renewals. */
final class HeldLocks implements Workload {

    private static final Duration TTL = Duration.ofSeconds(9);
    private static final int THREADS = 16;
    private static final int KEYS_PER_QUESTION = 500;
    private static final int FEW = 100;

    private final int locks;
    private final int pairsBefore;
    private final String id;

    private HeldLocks(String id, int locks, int pairsBefore) {
        this.id = id;
        this.locks = locks;
        this.pairsBefore = pairsBefore;
    }

    static Workload afterFewPairs() {
        return new HeldLocks("g", 50_000, FEW);
    }

    static Workload afterManyPairs() {
        return new HeldLocks("g-million", 10_000, 1_000_000);
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public String title() {
        return String.format("%,d locks held, ttl %d s, only renewed", locks, TTL.toSeconds());
    }

    @Override
    public void run(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        for (PeerKind kind : plan.among(LEASEHOLD, REDISSON)) {
            if (pairsBefore == FEW) {
                samples.accept(measure(kind, 0));
            }
            samples.accept(measure(kind, pairsBefore));
        }
    }

    private Sample measure(PeerKind kind, int pairs) throws InterruptedException {
        try (Stage stage = Stage.open(TTL)) {
            Peer peer = stage.peer(kind);
            spread(pairs, number -> peer.acquire("earlier-" + number % 1_000).release());
            Peer.Held[] held = new Peer.Held[locks];
            spread(locks, number -> held[number] = peer.acquire("held-" + number));
            // After a ttl, all work that acquiring has deferred is done, and every lock has been renewed once.
            TimeUnit.NANOSECONDS.sleep(TTL.toNanos());
            Map<Figure, Double> figures = new EnumMap<>(Figure.class);
            ServerUse before = stage.look();
            double cpuBefore = ProcessCpu.seconds();
            long begunNanos = System.nanoTime();
            TimeUnit.NANOSECONDS.sleep(2 * TTL.toNanos());
            double seconds = (System.nanoTime() - begunNanos) / 1e9;
            double cpu = ProcessCpu.seconds() - cpuBefore;
            ServerUse use = stage.look().since(before);
            figures.put(Figure.LOST, (double) missing(stage, peer));
            figures.put(Figure.SCRIPTS_PER_SECOND, use.scripts() / seconds);
            figures.put(Figure.COMMANDS_PER_SECOND, use.calls() / seconds);
            figures.put(Figure.CLIENT_CORES, cpu / seconds);
            figures.put(Figure.SERVER_CORES, use.cpuSeconds() / seconds);
            // Not released one by one: closing the client ends them, and that is not measured here.
            return new Sample(
                    id,
                    pairs == 0 ? "clean" : String.format("after %,d pairs", pairs),
                    kind,
                    0,
                    figures,
                    use.commands());
        }
    }

    private long missing(Stage stage, Peer peer) {
        RedisClient client = RedisClient.create(stage.server().uri());
        try (StatefulRedisConnection<String, String> connection = client.connect()) {
            RedisCommands<String, String> commands = connection.sync();
            long present = 0;
            for (int from = 0; from < locks; from += KEYS_PER_QUESTION) {
                present += commands.exists(IntStream.range(from, Math.min(locks, from + KEYS_PER_QUESTION))
                        .mapToObj(number -> peer.keyOf("held-" + number))
                        .toArray(String[]::new));
            }
            return locks - present;
        } finally {
            client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        }
    }

    /** The action for one number. */
    private interface Step {
        void at(int number) throws InterruptedException;
    }

    private static void spread(int count, Step step) throws InterruptedException {
        ExecutorService executor = Executors.newFixedThreadPool(THREADS);
        try {
            List<Future<?>> parts = new ArrayList<>();
            for (int thread = 0; thread < THREADS; thread++) {
                int first = thread;
                parts.add(executor.submit(() -> {
                    for (int number = first; number < count; number += THREADS) {
                        step.at(number);
                    }
                    return null;
                }));
            }
            for (Future<?> part : parts) {
                part.get();
            }
        } catch (ExecutionException e) {
            throw new IllegalStateException("locking failed", e.getCause());
        } finally {
            executor.shutdownNow();
        }
    }
}
