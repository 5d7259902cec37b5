package io.leasehold.verify.run;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.SharedLock;
import io.leasehold.WriteLease;
import io.leasehold.simulator.history.HistoryEvent;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The tasks of one client process that read, write and become readers at random, next to those of {@link LockTasks}.
 *
 * @param <F> the kinds of fault of the run
 */
@SuppressWarnings("FutureReturnValueIgnored")
public final class ReadTasks<F extends Enum<F>> {

    private final SimulatedRun<F> run;
    private final VirtualRuntime process;
    private final VirtualWorld world;
    private final LockTasks.Beliefs beliefs;
    private @Nullable LockClient locks;
    private boolean stopped;
    private int pending;

    /** Creates the tasks of a process. */
    public ReadTasks(SimulatedRun<F> run, VirtualRuntime process, LockTasks.Beliefs beliefs) {
        this.run = run;
        this.process = process;
        this.world = process.world();
        this.beliefs = beliefs;
    }

    /** Begins to use a client. */
    public void start(LockClient client) {
        locks = client;
        for (long tasks = 2 + world.randomBelow(run.plan().tasks()); tasks > 0; tasks--) {
            process.execute(this::next);
        }
    }

    /** Stops new attempts. */
    public void stop() {
        stopped = true;
    }

    /** Reports futures that never completed. */
    public void requireNonePending() {
        if (pending != 0) {
            run.problem("liveness: " + process.name() + " has " + pending + " futures of readers that never completed");
        }
    }

    private void later() {
        if (!stopped) {
            process.schedule(1 + world.randomBelow(1_000_000_000L), this::next);
        }
    }

    private void next() {
        LockClient client = locks;
        if (stopped || client == null) {
            return;
        }
        Duration patience = Duration.ofMillis(world.chance(0.2) ? 0 : world.randomBelow(3_000));
        SharedLock lock = client.readWrite(SimulatedRun.lock(0));
        if (world.chance(0.75)) {
            attempt(lock.read().attemptAsync(patience));
        } else {
            attempt(lock.write().attemptAsync(patience));
        }
    }

    private <L extends Lease> void attempt(CompletableFuture<Attempt<L>> future) {
        pending++;
        if (world.chance(0.1)) {
            process.schedule(world.randomBelow(20_000_000), () -> future.cancel(false));
        }
        future.whenComplete((attempt, error) -> {
            pending--;
            if (attempt instanceof Attempt.Acquired<L> acquired) {
                new Hold(acquired.lease()).use();
            } else {
                later();
            }
        });
    }

    /** One lease of a reader or a writer, which is checked some times. */
    private final class Hold {
        private final Lease lease;
        private final String lock;
        private final long token;
        private final @Nullable List<HistoryEvent> reads;
        private final long stepNanos = 1 + world.randomBelow(world.chance(0.2) ? 1_500_000_000L : 100_000_000L);
        private long steps = 1 + world.randomBelow(4);

        Hold(Lease lease) {
            this.lease = lease;
            this.lock = lease.lockName().text();
            this.token = lease.fencingToken();
            this.reads = lease instanceof WriteLease ? null : new ArrayList<>();
            if (reads != null) {
                run.reads(reads);
            }
            long until = believedUntil();
            happened(new HistoryEvent.Acquired(world.elapsedNanos(), process.name(), lock, token, until));
            mustKeep(until);
        }

        private void happened(HistoryEvent event) {
            if (reads != null) {
                reads.add(event);
            } else {
                run.happened(event);
            }
        }

        private long believedUntil() {
            long leftNanos = lease.remainingValidity().toNanos();
            return leftNanos == 0 ? world.elapsedNanos() : process.worldNanosAfter(leftNanos);
        }

        private void mustKeep(long untilNanos) {
            if (run.plan().promisesExclusion() && untilNanos > world.elapsedNanos()) {
                beliefs.mustKeep(lock, token, untilNanos);
            }
        }

        private void use() {
            long at = world.elapsedNanos();
            long until = believedUntil();
            if (until <= at) {
                end("lost");
                return;
            }
            happened(new HistoryEvent.Extended(at, process.name(), lock, token, until));
            mustKeep(until);
            if (--steps > 0) {
                process.schedule(stepNanos, this::use);
            } else if (lease instanceof WriteLease writer && world.chance(0.6)) {
                downgrade(writer);
            } else {
                end("released");
            }
        }

        private void downgrade(WriteLease writer) {
            happened(new HistoryEvent.Ended(world.elapsedNanos(), process.name(), lock, token, "downgraded"));
            pending++;
            writer.downgradeAsync().whenComplete((reader, error) -> {
                pending--;
                if (reader == null) {
                    later();
                } else {
                    run.counts().saw("downgrades", 1);
                    new Hold(reader).use();
                }
            });
        }

        private void end(String how) {
            happened(new HistoryEvent.Ended(world.elapsedNanos(), process.name(), lock, token, how));
            pending++;
            lease.releaseAsync().whenComplete((outcome, error) -> {
                pending--;
                later();
            });
        }
    }
}
