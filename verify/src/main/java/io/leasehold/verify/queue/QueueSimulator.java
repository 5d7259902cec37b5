package io.leasehold.verify.queue;

import io.leasehold.verify.run.Seeds;
import java.util.stream.Stream;

/** Runs plans over the stores whose locks are queues. */
public final class QueueSimulator {

    private QueueSimulator() {}

    /** The seeds of a store's plans. */
    public static Seeds<?> seeds(QueueKind kind) {
        return new Seeds<>(
                seed -> QueuePlan.ofSeed(kind, seed),
                (plan, trace) -> new QueueSimulation(plan, trace).run(),
                Stream.of(QueueFault.values()).filter(kind::knows).toArray(QueueFault[]::new));
    }
}
