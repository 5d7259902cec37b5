package io.leasehold.verify.sql;

import io.leasehold.Attempt;
import io.leasehold.Backoff;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.Renewal;
import io.leasehold.jdbc.StoresOverModel;
import io.leasehold.simulator.history.HistoryEvent;
import io.leasehold.spi.LockStore;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A client process: the real engine over the real lease table over the simulated driver, and a few tasks that acquire, use, lose and
 * give up locks at random, and write down what they believe.
 */
@SuppressWarnings("FutureReturnValueIgnored")
final class SqlClient {

    private static final Duration TTL = Duration.ofSeconds(2);

    final VirtualRuntime process;
    private final SqlSimulation simulation;
    private final VirtualWorld world;
    private final List<Wire> wires = new ArrayList<>();
    private @Nullable LockStore store;
    private @Nullable LockClient locks;
    private boolean stopped;
    private boolean refused;
    private boolean cutsRequests;
    private boolean cutsReplies;
    private boolean stalls;
    private int pending;

    SqlClient(SqlSimulation simulation, VirtualRuntime process) {
        this.simulation = simulation;
        this.process = process;
        this.world = process.world();
    }

    /** Opens the store, again and again if need be, and begins. */
    void start(int mostTasks) {
        process.startThread("main", () -> {
            LockStore opened = open();
            if (opened == null) {
                return;
            }
            locks = Leasehold.builder()
                    .store(opened)
                    .runtime(process)
                    .label(process.name())
                    .listener(simulation.counts)
                    .defaults(options())
                    .connect();
            for (long tasks = 1 + world.randomBelow(mostTasks); tasks > 0; tasks--) {
                process.execute(this::next);
            }
        });
    }

    /** On a thread of the process; null if it has been stopped before it could. */
    @Nullable
    LockStore open() {
        while (!simulation.isOver()) {
            try {
                LockStore opened = StoresOverModel.open(
                        SimulatedJdbc.dataSource(this::connect, simulation.plan.flavour(), simulation.statements),
                        simulation.plan.flavour().dialect,
                        process,
                        Duration.ofMillis(simulation.plan.retentionMillis()));
                store = opened;
                return opened;
            } catch (io.leasehold.LockStoreException e) {
                CompletableFuture<@Nullable Void> rest = new CompletableFuture<>();
                process.schedule(200_000_000L, () -> rest.complete(null));
                try {
                    process.await(rest);
                } catch (InterruptedException over) {
                    return null;
                }
            }
        }
        return null;
    }

    /** A client that acquires, gives back, and so looks for rows to delete; then it closes. */
    void keepHouse(String scratch) {
        process.startThread("main", () -> {
            LockStore opened = open();
            if (opened == null) {
                return;
            }
            LockClient client = Leasehold.builder()
                    .store(opened)
                    .runtime(process)
                    .defaults(LockOptions.defaults().ttl(TTL))
                    .connect();
            try {
                CompletableFuture<Attempt<Lease>> attempt =
                        client.named(scratch).attemptAsync(Duration.ZERO);
                process.await(attempt);
                Lease lease = attempt.isCompletedExceptionally()
                        ? null
                        : attempt.join().orElseNull();
                if (lease != null) {
                    process.await(lease.releaseAsync());
                }
                CompletableFuture<@Nullable Void> rest = new CompletableFuture<>();
                process.schedule(300_000_000L, () -> rest.complete(null));
                process.await(rest);
            } catch (InterruptedException e) {
                return;
            }
            client.close();
        });
    }

    /** Ends the process; unless it vanishes with its machine, the system ends its connections. */
    void die(boolean vanishes) {
        process.crash();
        if (!vanishes) {
            wires.forEach(wire -> wire.requests().send(() -> simulation.server.end(wire)));
        }
    }

    /** When the world has ended: its threads are to return. */
    void abandon() {
        LockStore left = store;
        if (left != null) {
            left.close();
            // The store was interrupted while it waited for its threads.
            Thread.interrupted();
        }
    }

    private Wire connect() throws SQLException {
        Wire wire = new Wire(this, simulation.server, simulation.plan.flavour(), simulation.drawnFaults());
        wires.removeIf(Wire::isBroken);
        wires.add(wire);
        if (cutsRequests) {
            wire.requests().cut();
        }
        if (cutsReplies) {
            wire.replies().cut();
        }
        if (stalls) {
            wire.requests().stall();
            wire.replies().stall();
        }
        wire.open();
        return wire;
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

    @Nullable
    LockClient locks() {
        return locks;
    }

    @Nullable
    LockStore store() {
        return store;
    }

    int pending() {
        return pending;
    }

    void saw(SqlFault fault) {
        simulation.saw(fault);
    }

    void modelFails(String why) {
        simulation.problem("model: " + why);
    }

    boolean isRefused() {
        return refused;
    }

    void refuse(boolean now) {
        refused = now;
    }

    void cutRequests(boolean now) {
        cutsRequests = now;
        wires.forEach(wire -> {
            if (now) {
                wire.requests().cut();
            } else {
                wire.requests().heal();
            }
        });
    }

    void cutReplies(boolean now) {
        cutsReplies = now;
        wires.forEach(wire -> {
            if (now) {
                wire.replies().cut();
            } else {
                wire.replies().heal();
            }
        });
    }

    void stall(boolean now) {
        stalls = now;
        wires.forEach(wire -> {
            if (now) {
                wire.requests().stall();
                wire.replies().stall();
            } else {
                wire.requests().resume();
                wire.replies().resume();
            }
        });
    }

    /** Begins nothing new, and its connections are good from now on. */
    void heal() {
        stopped = true;
        refuse(false);
        cutRequests(false);
        cutReplies(false);
        stall(false);
        wires.forEach(wire -> {
            wire.requests().faults(SqlSimulation.CALM);
            wire.replies().faults(SqlSimulation.CALM);
        });
    }

    /** At a suspension point, on a thread of the process: perhaps it stands still. */
    void mayPause(SqlFault point) throws SQLException {
        long nanos = simulation.pauseNanos(point);
        if (nanos > 0) {
            process.freeze(Duration.ofNanos(nanos));
            try {
                process.await(CompletableFuture.completedFuture(null));
            } catch (InterruptedException e) {
                throw new SQLException("the world has ended", "08006", e);
            }
        }
    }

    /** Whether a connection breaks now. */
    boolean draws(SqlFault reset) {
        return simulation.drawsReset(reset);
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
        String lock = SqlSimulation.lock(world.chance(0.6) ? 0 : world.randomBelow(locksInAll));
        pending++;
        CompletableFuture<Attempt<Lease>> future = client.named(lock).attemptAsync(patience);
        if (world.chance(0.1)) {
            process.schedule(world.randomBelow(20_000_000), () -> {
                if (future.cancel(false)) {
                    simulation.saw(SqlFault.CANCEL);
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
            long pauseNanos = simulation.pauseNanos(SqlFault.PAUSE_BEFORE_USE);
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
