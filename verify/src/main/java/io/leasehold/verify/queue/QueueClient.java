package io.leasehold.verify.queue;

import io.leasehold.Attempt;
import io.leasehold.Backoff;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.Renewal;
import io.leasehold.simulator.history.HistoryEvent;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.testkit.virtual.PassingStore;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import io.leasehold.verify.sql.SqlResource;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A client process: the real engine over the real store over a model of its cluster, and a few tasks that acquire, use, lose and
 * give up locks at random, and write down what they believe.
 */
@SuppressWarnings("FutureReturnValueIgnored")
final class QueueClient {

    private static final Duration TTL = Duration.ofSeconds(2);

    final QueueWire wire;
    final VirtualRuntime process;
    private final QueueSimulation simulation;
    private final VirtualWorld world;
    private @Nullable LockClient locks;
    private boolean stopped;
    private int pending;

    QueueClient(QueueSimulation simulation, QueueWire wire) {
        this.simulation = simulation;
        this.wire = wire;
        this.process = wire.process();
        this.world = process.world();
    }

    void start(int mostTasks) {
        locks = Leasehold.builder()
                .store(new WatchedStore(simulation.model.open(wire)))
                .runtime(process)
                .label(process.name())
                .listener(simulation.listener())
                .defaults(options())
                .connect();
        for (long tasks = 1 + world.randomBelow(mostTasks); tasks > 0; tasks--) {
            process.execute(this::next);
        }
    }

    /** Sees that a withdrawn attempt is granted nothing. */
    private final class WatchedStore extends PassingStore {
        private final Set<OwnerToken> released = new HashSet<>();

        WatchedStore(LockStore store) {
            super(store);
        }

        @Override
        public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
            return super.acquire(request).whenComplete((reply, error) -> {
                if (reply instanceof AcquireReply.Granted && released.contains(request.owner())) {
                    simulation.problem("withdrawn: an attempt was granted after its removal was asked for");
                }
            });
        }

        @Override
        public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
            released.add(request.owner());
            return super.release(request).whenComplete((reply, error) -> {
                if (reply instanceof ReleaseReply.Released || reply instanceof ReleaseReply.NotOurs) {
                    simulation.withdrawn(request.owner());
                }
            });
        }
    }

    private LockOptions options() {
        LockOptions options = LockOptions.defaults()
                .ttl(TTL)
                .recheck(Duration.ofSeconds(1))
                .retry(Backoff.exponential(Duration.ofMillis(20), Duration.ofMillis(500)));
        return switch ((int) world.randomBelow(6)) {
            case 0 -> options.renewal(Renewal.none());
            case 1 -> options.lockDelay(Duration.ofMillis(500));
            case 2 -> options.maxHold(Duration.ofSeconds(4));
            default -> options;
        };
    }

    LockClient locks() {
        return java.util.Objects.requireNonNull(locks);
    }

    int pending() {
        return pending;
    }

    /** Begins nothing new. */
    void stop() {
        stopped = true;
    }

    private void later(long mostMillis) {
        if (!stopped) {
            process.schedule(1 + world.randomBelow(mostMillis * 1_000_000), this::next);
        }
    }

    private void next() {
        LockClient client = locks;
        if (stopped || client == null) {
            return;
        }
        Duration patience = Duration.ofMillis(world.chance(0.2) ? 0 : world.randomBelow(3_000));
        int locksInAll = simulation.plan.locks();
        String lock = QueueSimulation.lock(world.chance(0.6) ? 0 : world.randomBelow(locksInAll));
        pending++;
        CompletableFuture<Attempt<Lease>> future = client.named(lock).attemptAsync(patience);
        if (world.chance(0.1)) {
            process.schedule(world.randomBelow(20_000_000), () -> {
                if (future.cancel(false)) {
                    simulation.saw(QueueFault.CANCEL);
                }
            });
        }
        future.whenComplete((attempt, error) -> {
            pending--;
            if (attempt instanceof Attempt.Acquired<Lease> acquired) {
                hold(acquired.lease());
            } else {
                later(1_500);
            }
        });
    }

    private void hold(Lease lease) {
        long at = world.elapsedNanos();
        long until = believedUntil(lease);
        String lock = lease.lockName().text();
        long token = lease.fencingToken();
        simulation.history.add(new HistoryEvent.Acquired(at, process.name(), lock, token, until));
        simulation.mustKeep(lock, token, until);
        long holdFor = world.chance(0.2) ? 5_000_000_000L : 300_000_000L;
        long steps = 1 + world.randomBelow(4);
        new Work(lease, lock, token, world.randomBelow(holdFor) / steps).first(steps);
    }

    /** For how long, in the world's time, the holder will go on believing if it looks at nothing but its clock. */
    private long believedUntil(Lease lease) {
        long leftNanos = lease.remainingValidity().toNanos();
        return leftNanos == 0 ? world.elapsedNanos() : process.worldNanosAfter(leftNanos);
    }

    /** The work of one hold: a read, then some writes, each after a look at the lease. */
    private final class Work {
        private final Lease lease;
        private final String lock;
        private final long token;
        private final long stepNanos;

        Work(Lease lease, String lock, long token, long stepNanos) {
            this.lease = lease;
            this.lock = lock;
            this.token = token;
            this.stepNanos = stepNanos;
        }

        void first(long steps) {
            ifHeld(() -> simulation.resource.read(process, lock, token, seen -> use(seen, steps)));
        }

        private void use(SqlResource.Answer seen, long steps) {
            if (!seen.accepted() || steps == 0) {
                end(seen.accepted() ? "released" : "refused");
                return;
            }
            process.schedule(1 + stepNanos, () -> {
                if (world.chance(0.04)) {
                    pending++;
                    lease.renewAsync().whenComplete((done, error) -> pending--);
                }
                ifHeld(() -> simulation.resource.write(process, lock, token, seen, next -> use(next, steps - 1)));
            });
        }

        /** Looks at the lease, perhaps stands still, and goes on. */
        private void ifHeld(Runnable then) {
            long at = world.elapsedNanos();
            long until = believedUntil(lease);
            if (until <= at) {
                end("lost");
                return;
            }
            simulation.history.add(new HistoryEvent.Extended(at, process.name(), lock, token, until));
            simulation.mustKeep(lock, token, until);
            long pauseNanos = simulation.pauseNanos(QueueFault.PAUSE_BEFORE_USE);
            if (pauseNanos > 0) {
                process.freeze(Duration.ofNanos(pauseNanos));
                process.execute(then);
            } else {
                then.run();
            }
        }

        private void end(String how) {
            simulation.history.add(new HistoryEvent.Ended(world.elapsedNanos(), process.name(), lock, token, how));
            pending++;
            lease.releaseAsync().whenComplete((outcome, error) -> {
                pending--;
                later(1_500);
            });
        }
    }
}
