package io.leasehold.simulator;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Checks the calm after a run: every future is completed, no lock is left without a holder, a free lock is granted, a
 * released lock goes to a waiter without a recheck, and a closed client leaves no timer.
 */
@SuppressWarnings("FutureReturnValueIgnored")
final class Aftermath {

    /** Longer than the longest hold, patience, quarantine and undo. */
    private static final Duration CALM = Duration.ofSeconds(14);

    /** Longer than the sum of a new quarantine and the time for which a corrected clock does not count. */
    private static final Duration SETTLING = Duration.ofSeconds(15);

    /** Longer than all steps of a node's clock together, and a ttl. */
    private static final Duration SET_BACK = Duration.ofSeconds(60);

    private static final Duration TURNS = Duration.ofSeconds(60);

    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final Duration AT_ONCE = Duration.ofMillis(800);

    private Aftermath() {}

    static void check(Simulation simulation, SimulationPlan plan) {
        VirtualWorld world = simulation.world;
        world.runFor(CALM);
        awaitTurns(simulation);
        simulation.waits.judgeAll();
        for (SimulatedClient client : simulation.clients) {
            if (client.pending() != 0) {
                simulation.log.problem("liveness: " + client.process.name() + " has " + client.pending()
                        + " futures that never completed");
            }
        }
        // A clock that was set back may keep the key of a killed client for longer. A renewed key stays in any case.
        world.runUntil(
                () -> simulation.nodes.stream().allMatch(node -> left(node).isEmpty()), SET_BACK);
        for (SimulatedNode node : simulation.nodes) {
            List<HeldLock> left = left(node);
            if (!left.isEmpty()) {
                simulation.log.problem("orphan: left behind at " + node.description() + ": " + left);
            }
        }
        // The callbacks of a lease whose release was answered at this moment.
        world.runFor(Duration.ZERO);
        simulation.clients.forEach(SimulatedClient::judge);
        // Another twenty seconds of checks follow.
        if (simulation.isSkewed()) {
            simulation.log.counts.saw("clocks too far apart");
        } else if (settles(simulation)) {
            passesOn(simulation);
            passesRound(simulation, plan.seed());
            givesBackUnwantedLocks(simulation);
        }
        for (SimulatedClient client : simulation.clients) {
            client.locks.close();
        }
        world.runFor(Duration.ofSeconds(5));
        int left = world.pendingEvents();
        if (left != 0) {
            simulation.log.problem("orphan: " + left + " timers or messages are left when all clients are closed");
        }
    }

    private static List<HeldLock> left(SimulatedNode node) {
        return node.admin().list("*", 10).join();
    }

    /**
     * Waits until each waiter without a limit has had its turn. Each waiter before it gets the lock within its bound,
     * or never.
     */
    private static void awaitTurns(Simulation simulation) {
        VirtualWorld world = simulation.world;
        BooleanSupplier over = () -> simulation.clients.stream().allMatch(client -> client.pending() == 0);
        long untilNanos = world.elapsedNanos() + TURNS.toNanos();
        int before;
        do {
            before = simulation.log.history.size();
        } while (!world.runUntil(over, Waits.BOUND)
                && simulation.log.history.size() > before
                && world.elapsedNanos() < untilNanos);
    }

    /** A caller that is gone when its grant arrives must cost no other client a ttl. */
    private static void givesBackUnwantedLocks(Simulation simulation) {
        VirtualWorld world = simulation.world;
        SimulatedClient first = simulation.clients.get(0);
        CompletableFuture<Attempt<Lease>> unwanted =
                first.locks.named(Simulation.lock(2)).attemptAsync(PATIENCE);
        world.runFor(Duration.ofNanos(50_000));
        if (!unwanted.cancel(false)) {
            return;
        }
        world.runFor(Duration.ofMillis(50));
        SimulatedClient second = simulation.clients.get(simulation.clients.size() - 1);
        CompletableFuture<Attempt<Lease>> taken =
                second.locks.named(Simulation.lock(2)).attemptAsync(PATIENCE);
        if (!world.runUntil(taken::isDone, AT_ONCE)) {
            simulation.log.problem("liveness: a grant that came too late for its caller was not released");
            world.runUntil(taken::isDone, PATIENCE);
        }
        Lease lease = leaseOf(taken);
        if (lease != null) {
            lease.releaseAsync();
        }
        world.runFor(Duration.ofMillis(200));
    }

    /**
     * Checks that a free lock is granted. Members that have forgotten begin their quarantine only at a request. A
     * client notices only at a request that a clock was corrected, and does not count that node for a while. The check
     * waits for both.
     */
    private static boolean settles(Simulation simulation) {
        for (SimulatedClient client : simulation.clients) {
            Lease lease = take(simulation, client, SETTLING);
            if (lease == null) {
                simulation.log.problem("liveness: a free lock is not granted when all is calm");
                return false;
            }
            lease.releaseAsync();
        }
        simulation.world.runFor(PATIENCE);
        return true;
    }

    private static @Nullable Lease take(Simulation simulation, SimulatedClient client, Duration patience) {
        CompletableFuture<Attempt<Lease>> taken =
                client.locks.named(Simulation.lock(0)).attemptAsync(patience);
        simulation.world.runUntil(taken::isDone, patience);
        return leaseOf(taken);
    }

    /** Checks that a released lock goes to a waiter without a recheck. */
    private static void passesOn(Simulation simulation) {
        VirtualWorld world = simulation.world;
        Lease lease = take(simulation, simulation.clients.get(0), PATIENCE);
        if (lease == null) {
            simulation.log.problem("liveness: a free lock is not granted again when all is calm");
            return;
        }
        SimulatedClient second = simulation.clients.get(simulation.clients.size() - 1);
        CompletableFuture<Attempt<Lease>> waiting = second.locks
                .named(Simulation.lock(0))
                .with(options -> options.recheck(Duration.ofSeconds(3)))
                .attemptAsync(PATIENCE);
        world.runFor(Duration.ofMillis(200));
        lease.releaseAsync();
        if (!world.runUntil(waiting::isDone, AT_ONCE)) {
            simulation.log.problem("liveness: a waiter was not woken by the release");
            world.runUntil(waiting::isDone, PATIENCE);
        } else {
            simulation.log.counts.saw("passed on");
        }
        Lease passed = leaseOf(waiting);
        if (passed == null) {
            simulation.log.problem("liveness: a released lock is not granted to its waiter: " + waiting);
        } else {
            passed.releaseAsync();
        }
        world.runFor(Duration.ofMillis(500));
    }

    /**
     * Several waiters of one process and one of another wait for a lock that becomes free: each is served once, in
     * time.
     */
    private static void passesRound(Simulation simulation, long seed) {
        VirtualWorld world = simulation.world;
        SimulatedClient first = simulation.clients.get(0);
        SimulatedClient last = simulation.clients.get(simulation.clients.size() - 1);
        Lease held = take(simulation, first, PATIENCE);
        if (held == null) {
            simulation.log.problem("liveness: a free lock is not granted once more when all is calm");
            return;
        }
        int round = 2 + (int) (seed % 4);
        int[] served = new int[1];
        for (int i = 0; i <= round; i++) {
            SimulatedClient client = i == 1 ? last : first;
            client.locks.named(Simulation.lock(0)).attemptAsync(PATIENCE).whenComplete((attempt, error) -> {
                Lease lease = attempt == null ? null : attempt.orElseNull();
                if (lease != null) {
                    served[0]++;
                    client.showBriefly(lease);
                }
            });
        }
        world.runFor(Duration.ofMillis(200));
        held.releaseAsync();
        if (!world.runUntil(() -> served[0] > round, AT_ONCE.multipliedBy(round + 1L))) {
            simulation.log.problem("liveness: of " + (round + 1) + " waiters only " + served[0]
                    + " were served one after the other, up to " + world.elapsed());
            world.runFor(PATIENCE);
        }
        world.runFor(Duration.ofMillis(500));
    }

    private static @Nullable Lease leaseOf(CompletableFuture<Attempt<Lease>> attempt) {
        return attempt.isDone() && !attempt.isCompletedExceptionally()
                ? attempt.join().orElseNull()
                : null;
    }
}
