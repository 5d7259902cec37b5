package io.leasehold.verify.queue;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.testkit.virtual.PassingStore;
import io.leasehold.verify.run.LockTasks;
import io.leasehold.verify.run.ReadTasks;
import io.leasehold.verify.run.SimulatedRun;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A client process: the real engine over the real store over a model of its cluster, and its tasks. */
final class QueueClient {

    final QueueWire wire;
    private final LockTasks<QueueFault> tasks;
    /** Null if locks have no readers. */
    private final @Nullable ReadTasks<QueueFault> reads;

    private final SimulatedRun<QueueFault> run;
    private final QueueRun cluster;

    QueueClient(
            SimulatedRun<QueueFault> run,
            QueueRun cluster,
            QueueWire wire,
            LockTasks.Beliefs beliefs,
            boolean hasReaders) {
        this.run = run;
        this.cluster = cluster;
        this.wire = wire;
        this.tasks = new LockTasks<>(run, wire.process(), beliefs, QueueFault.PAUSE_BEFORE_USE, QueueFault.CANCEL);
        this.reads = hasReaders ? new ReadTasks<>(run, wire.process(), beliefs) : null;
    }

    /** The client; null before the tasks begin. */
    @Nullable
    LockClient locks() {
        return tasks.locks();
    }

    /** Stops new attempts. */
    void stop() {
        tasks.stop();
        if (reads != null) {
            reads.stop();
        }
    }

    /** Reports futures that never completed. */
    void requireNonePending() {
        tasks.requireNonePending();
        if (reads != null) {
            reads.requireNonePending();
        }
    }

    void start(QueueModel model, Duration ttl) {
        LockClient client = Leasehold.builder()
                .store(new WatchedStore(model.open(wire)))
                .runtime(wire.process())
                .label(wire.process().name())
                .listener(run.counts())
                .defaults(tasks.options().ttl(ttl))
                .connect();
        tasks.start(client);
        if (reads != null) {
            reads.start(client);
        }
    }

    /** Checks that a withdrawn attempt is granted nothing. */
    private final class WatchedStore extends PassingStore {
        private final Set<OwnerToken> released = new HashSet<>();

        WatchedStore(LockStore store) {
            super(store);
        }

        @Override
        public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
            return super.acquire(request).whenComplete((reply, error) -> {
                if (reply instanceof AcquireReply.Granted && released.contains(request.owner())) {
                    run.problem("withdrawn: an attempt was granted after its removal was requested");
                }
            });
        }

        @Override
        public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
            released.add(request.owner());
            return super.release(request).whenComplete((reply, error) -> {
                if (reply instanceof ReleaseReply.Released || reply instanceof ReleaseReply.NotOurs) {
                    cluster.withdrawn(request.owner());
                }
            });
        }
    }
}
