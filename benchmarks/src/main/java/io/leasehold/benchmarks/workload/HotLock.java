package io.leasehold.benchmarks.workload;

import static io.leasehold.benchmarks.peer.PeerKind.JEDIS;
import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD;
import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD_STRICT;
import static io.leasehold.benchmarks.peer.PeerKind.RAW;
import static io.leasehold.benchmarks.peer.PeerKind.REDISSON;
import static io.leasehold.benchmarks.peer.PeerKind.REDISSON_FAIR;
import static io.leasehold.benchmarks.peer.PeerKind.SHEDLOCK;
import static io.leasehold.benchmarks.peer.PeerKind.SPRING;

import io.leasehold.benchmarks.measure.Drive;
import io.leasehold.benchmarks.measure.Load;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.measure.ServerUse;
import io.leasehold.benchmarks.measure.Threads;
import java.util.function.Consumer;

/** c: eight threads of one JVM request the same lock all the time, and release it at once. */
final class HotLock implements Workload {

    private static final int THREADS = 8;
    private static final String NAME = "hot";

    @Override
    public String id() {
        return "c";
    }

    @Override
    public String title() {
        return "one hot lock, " + THREADS + " threads, one JVM";
    }

    @Override
    public void run(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        try (Stage stage = Stage.open()) {
            Rounds.run(
                    plan,
                    plan.among(LEASEHOLD, LEASEHOLD_STRICT, RAW, REDISSON, REDISSON_FAIR, JEDIS, SPRING, SHEDLOCK),
                    samples,
                    (kind, round) -> {
                        Drive drive = new Drive(stage.peer(kind), THREADS, Threads.platform());
                        ServerUse before = stage.look();
                        Load load = drive.run(
                                thread -> () -> NAME,
                                Drive.soonAtNanos(1),
                                plan.window().toNanos());
                        ServerUse use = stage.look().since(before);
                        return new Sample(
                                id(), THREADS + " threads", kind, round, Sample.pairs(load, use), use.commands());
                    });
        }
    }
}
