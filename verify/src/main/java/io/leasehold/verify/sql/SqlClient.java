package io.leasehold.verify.sql;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.jdbc.StoresOverModel;
import io.leasehold.spi.LockStore;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.verify.run.LockTasks;
import io.leasehold.verify.run.SimulatedRun;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A client process: the real engine over the real lease table over the simulated driver, and its tasks. */
@SuppressWarnings("FutureReturnValueIgnored")
final class SqlClient implements Wire.Client {

    /** At network 1, a connection breaks once in this many statements. */
    private static final double STATEMENTS_OF_A_RESET = 3_000;

    final LockTasks<SqlFault> tasks;
    private final VirtualRuntime process;
    private final SqlSimulation simulation;
    private final SimulatedRun<SqlFault> run;
    private final List<Wire> wires = new ArrayList<>();
    private @Nullable LockStore store;
    private boolean refused;
    private boolean cutsRequests;
    private boolean cutsReplies;
    private boolean stalls;

    SqlClient(SqlSimulation simulation, VirtualRuntime process) {
        this.simulation = simulation;
        this.run = simulation.run;
        this.process = process;
        this.tasks = new LockTasks<>(run, process, simulation, SqlFault.PAUSE_BEFORE_USE, SqlFault.CANCEL);
    }

    /** Opens the store, repeatedly if necessary, and begins. */
    void start() {
        process.startThread("main", () -> {
            LockStore opened = open();
            if (opened == null) {
                return;
            }
            tasks.start(Leasehold.builder()
                    .store(opened)
                    .runtime(process)
                    .label(process.name())
                    .listener(run.counts())
                    .defaults(tasks.options())
                    .connect());
        });
    }

    /** Runs on a thread of the process; returns null if the process was stopped first. */
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

    /** Acquires and releases as a new client, so that it searches for rows to delete; then closes it. */
    void keepHouse(String scratch) {
        process.startThread("main", () -> {
            LockStore opened = open();
            if (opened == null) {
                return;
            }
            LockClient client = Leasehold.builder()
                    .store(opened)
                    .runtime(process)
                    .defaults(LockOptions.defaults().ttl(LockTasks.TTL))
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

    /** Lets the threads return at the end of the world. */
    void abandon() {
        LockStore left = store;
        if (left != null) {
            left.close();
            // The store was interrupted while it waited for its threads.
            Thread.interrupted();
        }
    }

    private Wire connect() throws SQLException {
        Wire wire = new Wire(this, simulation.server, simulation.plan.flavour(), run.drawnFaults());
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

    @Nullable
    LockStore store() {
        return store;
    }

    @Override
    public VirtualRuntime process() {
        return process;
    }

    @Override
    public void saw(SqlFault fault) {
        run.saw(fault);
    }

    @Override
    public void modelFails(String why) {
        run.problem("model: " + why);
    }

    @Override
    public boolean isRefused() {
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

    /** Stops new attempts, and makes its connections reliable from now on. */
    void heal() {
        tasks.stop();
        refuse(false);
        cutRequests(false);
        cutReplies(false);
        stall(false);
        wires.forEach(wire -> {
            wire.requests().faults(SimulatedRun.CALM);
            wire.replies().faults(SimulatedRun.CALM);
        });
    }

    @Override
    public void mayPause(SqlFault point) throws SQLException {
        long nanos = run.pauseNanos(point);
        if (nanos > 0) {
            process.freeze(Duration.ofNanos(nanos));
            try {
                process.await(CompletableFuture.completedFuture(null));
            } catch (InterruptedException e) {
                throw new SQLException("the world has ended", "08006", e);
            }
        }
    }

    @Override
    public boolean draws(SqlFault reset) {
        return run.drawsReset(reset, STATEMENTS_OF_A_RESET);
    }
}
