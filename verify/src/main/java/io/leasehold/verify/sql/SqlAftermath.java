package io.leasehold.verify.sql;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.testkit.virtual.VirtualWorld;
import io.leasehold.verify.run.SimulatedRun;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Checks the calm after a run: every future is completed, no lock is left without a holder, a free lock is granted, a
 * released lock goes to the waiting client, and a closed client leaves nothing.
 */
@SuppressWarnings("FutureReturnValueIgnored")
final class SqlAftermath {

    /** Longer than the longest hold, and than a connection or a transaction may hang. */
    private static final Duration CALM = Duration.ofSeconds(16);

    private static final Duration PATIENCE = Duration.ofSeconds(5);

    /** During this time the store does not test again whether notifications arrive. */
    private static final Duration REST = Duration.ofSeconds(130);

    /** Without notifications waiters poll. */
    private static final Duration POLLED = Duration.ofMillis(2_500);

    private static final Duration AT_ONCE = Duration.ofMillis(100);

    /** Longer than an idle connection is kept. */
    private static final Duration IDLE = Duration.ofSeconds(60);

    private SqlAftermath() {}

    static void check(SqlSimulation simulation) {
        VirtualWorld world = simulation.run.world();
        world.runFor(CALM);
        List<LockClient> clients = new ArrayList<>();
        for (SqlClient client : simulation.clients) {
            client.tasks.requireNonePending();
            LockClient locks = client.tasks.locks();
            if (locks == null) {
                simulation.run.problem("liveness: " + client.process().name() + " has found no connection");
            } else {
                clients.add(locks);
            }
        }
        long micros = simulation.server.micros();
        simulation.server.store.rows().stream()
                .filter(row -> row.isHeldAt(micros))
                .forEach(row -> simulation.run.problem("orphan: left behind: " + row));
        if (clients.size() == simulation.clients.size() && settles(simulation, clients)) {
            passesOn(simulation, clients);
        }
        clients.forEach(LockClient::close);
        world.runFor(IDLE);
        if (world.pendingEvents() != 0) {
            simulation.run.problem(
                    "orphan: " + world.pendingEvents() + " timers or messages are left when all clients are closed");
        }
    }

    private static boolean settles(SqlSimulation simulation, List<LockClient> clients) {
        for (LockClient client : clients) {
            Lease lease = take(simulation, client);
            if (lease == null) {
                simulation.run.problem("liveness: a free lock is not granted when all is calm");
                return false;
            }
            lease.releaseAsync();
        }
        simulation.run.world().runFor(REST);
        return true;
    }

    private static @Nullable Lease take(SqlSimulation simulation, LockClient client) {
        CompletableFuture<Attempt<Lease>> taken =
                client.named(SimulatedRun.lock(0)).attemptAsync(PATIENCE);
        simulation.run.world().runUntil(taken::isDone, PATIENCE);
        return leaseOf(taken);
    }

    private static void passesOn(SqlSimulation simulation, List<LockClient> clients) {
        VirtualWorld world = simulation.run.world();
        Lease lease = take(simulation, clients.get(0));
        if (lease == null) {
            simulation.run.problem("liveness: a free lock is not granted again when all is calm");
            return;
        }
        CompletableFuture<Attempt<Lease>> waiting =
                clients.get(clients.size() - 1).named(SimulatedRun.lock(0)).attemptAsync(PATIENCE);
        world.runFor(Duration.ofMillis(600));
        lease.releaseAsync();
        if (world.runUntil(waiting::isDone, AT_ONCE)) {
            simulation.run.counts().saw("passed on at once", 1);
        } else if (simulation.plan.flavour() == Flavour.POSTGRESQL) {
            simulation.run.problem("liveness: a waiter was not woken by the release");
            world.runUntil(waiting::isDone, PATIENCE);
        } else if (world.runUntil(waiting::isDone, POLLED)) {
            simulation.run.counts().saw("passed on by a poll", 1);
        }
        Lease passed = leaseOf(waiting);
        if (passed == null) {
            simulation.run.problem("liveness: a released lock is not granted to the client that waits for it");
            world.runUntil(waiting::isDone, PATIENCE);
        } else {
            passed.releaseAsync();
        }
        world.runFor(Duration.ofMillis(500));
    }

    private static @Nullable Lease leaseOf(CompletableFuture<Attempt<Lease>> attempt) {
        return attempt.isDone() && !attempt.isCompletedExceptionally()
                ? attempt.join().orElseNull()
                : null;
    }
}
