package io.leasehold.benchmarks.workload;

import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD;
import static io.leasehold.benchmarks.peer.PeerKind.REDISSON;

import io.leasehold.benchmarks.measure.Figure;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.measure.ServerUse;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.locks.Lock;
import java.util.function.Consumer;

/** Measures a further lock and unlock by the thread that holds the lock. */
final class Reentry implements Workload {

    private static final int BATCH = 100;

    @Override
    public String id() {
        return "reentry";
    }

    @Override
    public String title() {
        return "one more lock and unlock by the thread that holds the lock";
    }

    @Override
    public void run(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        try (Stage stage = Stage.open()) {
            Rounds.run(plan, plan.among(LEASEHOLD, REDISSON), samples, (kind, round) -> {
                Lock lock = stage.peer(kind).reentrant("reentered");
                if (lock == null) {
                    throw new IllegalStateException(kind.label() + " has no reentrant lock");
                }
                lock.lock();
                try {
                    Map<Figure, Double> figures = new EnumMap<>(Figure.class);
                    ServerUse before = stage.look();
                    long pairs = 0;
                    long begunNanos = System.nanoTime();
                    long nanos = 0;
                    while (nanos < plan.window().toNanos()) {
                        for (int i = 0; i < BATCH; i++) {
                            lock.lock();
                            try {
                                pairs++;
                            } finally {
                                lock.unlock();
                            }
                        }
                        nanos = System.nanoTime() - begunNanos;
                    }
                    ServerUse use = stage.look().since(before);
                    figures.put(Figure.NANOS_PER_REENTRY, (double) nanos / pairs);
                    figures.put(Figure.SCRIPTS, (double) use.scripts() / pairs);
                    figures.put(Figure.COMMANDS, (double) use.calls() / pairs);
                    return new Sample(id(), "1 thread", kind, round, figures, use.commands());
                } finally {
                    lock.unlock();
                }
            });
        }
    }
}
