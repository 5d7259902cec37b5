package io.leasehold.benchmarks.workload;

import static io.leasehold.benchmarks.peer.PeerKind.JEDIS;
import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD;
import static io.leasehold.benchmarks.peer.PeerKind.RAW;
import static io.leasehold.benchmarks.peer.PeerKind.REDISSON;
import static io.leasehold.benchmarks.peer.PeerKind.SHEDLOCK;
import static io.leasehold.benchmarks.peer.PeerKind.SPRING;

import io.leasehold.benchmarks.measure.Drive;
import io.leasehold.benchmarks.measure.Load;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.measure.ServerUse;
import io.leasehold.benchmarks.measure.Threads;
import io.leasehold.benchmarks.peer.PeerKind;
import java.util.concurrent.ThreadFactory;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** a and b: no contention, every pair has another name; in one thread, or in many. */
final class Pairs implements Workload {

    private static final int NAMES = 10_000;

    private final String id;
    private final String title;

    private Pairs(String id, String title) {
        this.id = id;
        this.title = title;
    }

    static Workload oneThread() {
        return new Pairs("a", "1 thread, distinct names, acquire and release");
    }

    static Workload manyThreads() {
        return new Pairs("b", "16 and 64 threads, 1000 virtual threads, distinct names");
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
    public void run(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        if (id.equals("a")) {
            measure(plan, samples, "1 thread", 1, Threads.platform());
            return;
        }
        measure(plan, samples, "16 threads", 16, Threads.platform());
        measure(plan, samples, "64 threads", 64, Threads.platform());
        ThreadFactory virtual = Threads.virtual().orElse(null);
        if (virtual == null) {
            System.err.println("b, 1000 virtual threads: left out, this JVM has none (they need 21 or newer)");
            return;
        }
        measure(plan, samples, "1000 virtual threads", 1000, virtual);
    }

    private void measure(Plan plan, Consumer<Sample> samples, String variant, int threads, ThreadFactory factory)
            throws InterruptedException {
        try (Stage stage = Stage.open()) {
            measure(stage, plan, samples, variant, threads, factory);
        }
        if (plan.thorough()) {
            try (Stage stage = Stage.durable()) {
                measure(stage, plan, samples, variant + ", appendfsync always", threads, factory);
            }
        }
    }

    private void measure(
            Stage stage, Plan plan, Consumer<Sample> samples, String variant, int threads, ThreadFactory factory)
            throws InterruptedException {
        Rounds.run(plan, plan.among(LEASEHOLD, RAW, REDISSON, JEDIS, SPRING, SHEDLOCK), samples, (kind, round) -> {
            Drive drive = new Drive(stage.peer(kind), threads, factory);
            ServerUse before = stage.look();
            Load load =
                    drive.run(Pairs::names, Drive.soonAtNanos(1), plan.window().toNanos());
            ServerUse use = stage.look().since(before);
            return sample(variant, kind, round, load, use);
        });
    }

    private Sample sample(String variant, PeerKind kind, int round, Load load, ServerUse use) {
        return new Sample(id, variant, kind, round, Sample.pairs(load, use), use.commands());
    }

    /** Ten thousand names for each thread, in turn. */
    static Supplier<String> names(int thread) {
        String prefix = "order:" + thread + "-";
        int[] next = {0};
        return () -> prefix + (next[0]++ % NAMES);
    }
}
