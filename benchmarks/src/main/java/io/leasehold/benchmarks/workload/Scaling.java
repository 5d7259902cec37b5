package io.leasehold.benchmarks.workload;

import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD;
import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD_STRICT;

import io.leasehold.benchmarks.measure.Drive;
import io.leasehold.benchmarks.measure.Load;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.measure.ServerUse;
import io.leasehold.benchmarks.measure.Threads;
import io.leasehold.benchmarks.peer.Peer;
import io.leasehold.benchmarks.peer.PeerKind;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** Measures a pair with a growing number of waiters, or of other held locks. */
final class Scaling implements Workload {

    private static final int HOLDING_THREADS = 32;

    /** So long that no renewal happens in a window. */
    private static final Duration LONG_TTL = Duration.ofMinutes(20);

    private final String id;
    private final String title;

    private Scaling(String id, String title) {
        this.id = id;
        this.title = title;
    }

    static Workload ofWaiters() {
        return new Scaling("scale-waiters", "one hot lock, 1 to 1000 threads of one JVM");
    }

    static Workload ofNames() {
        return new Scaling("scale-names", "1 thread, distinct names, while the client holds 1 to 100,000 others");
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
        if (id.equals("scale-waiters")) {
            waiters(plan, samples);
        } else {
            names(plan, samples);
        }
    }

    private void waiters(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        List<PeerKind> kinds = plan.among(LEASEHOLD, LEASEHOLD_STRICT);
        try (Stage stage = Stage.open()) {
            for (int threads : new int[] {1, 10, 100, 1_000}) {
                Rounds.run(plan, kinds, samples, (kind, round) -> {
                    ServerUse before = stage.look();
                    Load load = new Drive(stage.peer(kind), threads, Threads.platform())
                            .run(
                                    thread -> () -> "hot",
                                    Drive.soonAtNanos(1),
                                    plan.window().toNanos());
                    ServerUse use = stage.look().since(before);
                    return new Sample(
                            id,
                            String.format("%,d threads", threads),
                            kind,
                            round,
                            Sample.pairs(load, use),
                            use.commands());
                });
            }
        }
    }

    private void names(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        List<PeerKind> kinds = plan.among(LEASEHOLD);
        if (kinds.isEmpty()) {
            return;
        }
        try (Stage stage = Stage.open(LONG_TTL)) {
            Peer peer = stage.peer(LEASEHOLD);
            int held = 0;
            for (int names : new int[] {1, 100, 10_000, 100_000}) {
                hold(peer, held, names);
                held = names;
                Rounds.run(plan, kinds, samples, (kind, round) -> {
                    ServerUse before = stage.look();
                    Load load = new Drive(peer, 1, Threads.platform())
                            .run(
                                    Pairs::names,
                                    Drive.soonAtNanos(1),
                                    plan.window().toNanos());
                    ServerUse use = stage.look().since(before);
                    return new Sample(
                            id, String.format("%,d held", names), kind, round, Sample.pairs(load, use), use.commands());
                });
            }
        }
    }

    /** Acquires locks that are never released: the server ends before their ttl does. */
    private static void hold(Peer peer, int from, int to) throws InterruptedException {
        AtomicInteger next = new AtomicInteger(from);
        List<Thread> threads = IntStream.range(0, HOLDING_THREADS)
                .mapToObj(number -> new Thread(() -> {
                    try {
                        for (int name = next.getAndIncrement(); name < to; name = next.getAndIncrement()) {
                            peer.acquire("held-" + name);
                        }
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                }))
                .toList();
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        if (next.get() < to) {
            throw new IllegalStateException("only " + next.get() + " of " + to + " locks could be held");
        }
    }
}
