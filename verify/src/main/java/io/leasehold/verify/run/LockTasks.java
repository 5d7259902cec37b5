package io.leasehold.verify.run;

import io.leasehold.Attempt;
import io.leasehold.Backoff;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.Renewal;
import io.leasehold.simulator.history.HistoryEvent;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The tasks of one client process: they acquire, use, lose and release locks at random, and record their beliefs.
 *
 * @param <F> the kinds of fault of the run
 */
@SuppressWarnings("FutureReturnValueIgnored")
public final class LockTasks<F extends Enum<F>> {

    /** The ttl of their leases. */
    public static final Duration TTL = Duration.ofSeconds(2);

    /** The comparison of a holder's belief with the store. */
    public interface Beliefs {
        /** Checks that a holder does not believe for longer than the store keeps its hold. */
        void mustKeep(String lock, long token, long untilNanos);
    }

    private final SimulatedRun<F> run;
    private final VirtualRuntime process;
    private final VirtualWorld world;
    private final Beliefs beliefs;
    private final F pauseBeforeUse;
    private final F cancel;
    private @Nullable LockClient locks;
    private boolean stopped;
    private int pending;

    /**
     * Creates the tasks of a process.
     *
     * @param pauseBeforeUse the fault that a holder pauses between a check of its lease and its use
     * @param cancel the fault that a caller cancels its attempt
     */
    public LockTasks(SimulatedRun<F> run, VirtualRuntime process, Beliefs beliefs, F pauseBeforeUse, F cancel) {
        this.run = run;
        this.process = process;
        this.world = process.world();
        this.beliefs = beliefs;
        this.pauseBeforeUse = pauseBeforeUse;
        this.cancel = cancel;
    }

    /** Draws the options of the client. */
    public LockOptions options() {
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

    /** Begins to use a client. */
    public void start(LockClient client) {
        locks = client;
        for (long tasks = 1 + world.randomBelow(run.plan().tasks()); tasks > 0; tasks--) {
            process.execute(this::next);
        }
    }

    /** Stops new attempts. */
    public void stop() {
        stopped = true;
    }

    /** The client; null before the tasks begin. */
    public @Nullable LockClient locks() {
        return locks;
    }

    /** Reports futures that never completed. */
    public void requireNonePending() {
        if (pending != 0) {
            run.problem("liveness: " + process.name() + " has " + pending + " futures that never completed");
        }
    }

    private void later() {
        if (!stopped) {
            process.schedule(1 + world.randomBelow(1_500_000_000L), this::next);
        }
    }

    private void next() {
        LockClient client = locks;
        if (stopped || client == null) {
            return;
        }
        Duration patience = Duration.ofMillis(world.chance(0.2) ? 0 : world.randomBelow(3_000));
        String lock = SimulatedRun.lock(
                world.chance(0.6) ? 0 : world.randomBelow(run.plan().locks()));
        pending++;
        CompletableFuture<Attempt<Lease>> future = client.named(lock).attemptAsync(patience);
        if (world.chance(0.1)) {
            process.schedule(world.randomBelow(20_000_000), () -> {
                if (future.cancel(false)) {
                    run.saw(cancel);
                }
            });
        }
        future.whenComplete((attempt, error) -> {
            pending--;
            if (attempt instanceof Attempt.Acquired<Lease> acquired) {
                hold(acquired.lease());
            } else {
                later();
            }
        });
    }

    private void hold(Lease lease) {
        long at = world.elapsedNanos();
        long until = believedUntil(lease);
        String lock = lease.lockName().text();
        long token = lease.fencingToken();
        run.happened(new HistoryEvent.Acquired(at, process.name(), lock, token, until));
        mustKeep(lock, token, until);
        long holdFor = world.chance(0.2) ? 5_000_000_000L : 300_000_000L;
        long steps = 1 + world.randomBelow(4);
        new Work(lease, lock, token, world.randomBelow(holdFor) / steps).first(steps);
    }

    /** The end, in the world's time, of the holder's belief if it checks only its clock. */
    private long believedUntil(Lease lease) {
        long leftNanos = lease.remainingValidity().toNanos();
        return leftNanos == 0 ? world.elapsedNanos() : process.worldNanosAfter(leftNanos);
    }

    private void mustKeep(String lock, long token, long untilNanos) {
        if (run.plan().promisesExclusion() && untilNanos > world.elapsedNanos()) {
            beliefs.mustKeep(lock, token, untilNanos);
        }
    }

    /** The work of one hold: a read, then some writes, each after a check of the lease. */
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
            ifHeld(() -> run.resource().read(process, lock, token, seen -> use(seen, steps)));
        }

        private void use(GuardedCounters.Answer seen, long steps) {
            if (!seen.accepted() || steps == 0) {
                end(seen.accepted() ? "released" : "refused");
                return;
            }
            process.schedule(1 + stepNanos, () -> {
                if (world.chance(0.04)) {
                    pending++;
                    lease.renewAsync().whenComplete((done, error) -> pending--);
                }
                ifHeld(() -> run.resource().write(process, lock, token, seen, next -> use(next, steps - 1)));
            });
        }

        /** Checks the lease, may pause, and continues. */
        private void ifHeld(Runnable then) {
            long at = world.elapsedNanos();
            long until = believedUntil(lease);
            if (until <= at) {
                end("lost");
                return;
            }
            run.happened(new HistoryEvent.Extended(at, process.name(), lock, token, until));
            mustKeep(lock, token, until);
            long pauseNanos = run.pauseNanos(pauseBeforeUse);
            if (pauseNanos > 0) {
                process.freeze(Duration.ofNanos(pauseNanos));
                process.execute(then);
            } else {
                then.run();
            }
        }

        private void end(String how) {
            run.happened(new HistoryEvent.Ended(world.elapsedNanos(), process.name(), lock, token, how));
            pending++;
            lease.releaseAsync().whenComplete((outcome, error) -> {
                pending--;
                later();
            });
        }
    }
}
