package io.leasehold.benchmarks.workload;

import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD;
import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD_PERMIT;
import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD_STRICT;

import io.leasehold.benchmarks.measure.Drive;
import io.leasehold.benchmarks.measure.Load;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.measure.ServerUse;
import io.leasehold.benchmarks.measure.Threads;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.function.Supplier;

/** permit: one permit of a name next to the exclusive lock; distinct names in one thread, and one name in eight. */
final class OnePermit implements Workload {

    private static final int THREADS = 8;

    @Override
    public String id() {
        return "permit";
    }

    @Override
    public String title() {
        return "one permit of a name next to a lock";
    }

    @Override
    public void run(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        try (Stage stage = Stage.open()) {
            measure(stage, plan, samples, "1 thread", 1, Pairs::names);
            measure(stage, plan, samples, THREADS + " threads, one name", THREADS, thread -> () -> "hot");
        }
    }

    private void measure(
            Stage stage,
            Plan plan,
            Consumer<Sample> samples,
            String variant,
            int threads,
            IntFunction<Supplier<String>> names)
            throws InterruptedException {
        Rounds.run(plan, plan.among(LEASEHOLD, LEASEHOLD_STRICT, LEASEHOLD_PERMIT), samples, (kind, round) -> {
            // A name has one kind.
            IntFunction<Supplier<String>> own = thread -> {
                Supplier<String> of = names.apply(thread);
                return () -> kind.name() + of.get();
            };
            Drive drive = new Drive(stage.peer(kind), threads, Threads.platform());
            ServerUse before = stage.look();
            Load load = drive.run(own, Drive.soonAtNanos(1), plan.window().toNanos());
            ServerUse use = stage.look().since(before);
            return new Sample(id(), variant, kind, round, Sample.pairs(load, use), use.commands());
        });
    }
}
