package io.leasehold.verify.queue;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * When all is calm: every future is completed, no entry is left behind, a free lock is granted, a released one goes at once to the
 * client that waits for it, also if what would have told it has broken meanwhile, and a closed client leaves nothing.
 */
@SuppressWarnings("FutureReturnValueIgnored")
final class QueueAftermath {

    /** Longer than the longest hold, than a lease or a session lives on, and than a connection may hang. */
    private static final Duration CALM = Duration.ofSeconds(20);

    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final Duration AT_ONCE = Duration.ofMillis(100);
    private static final Duration IDLE = Duration.ofSeconds(60);

    private QueueAftermath() {}

    static void check(QueueSimulation simulation) {
        VirtualWorld world = simulation.world();
        world.runFor(CALM);
        for (QueueClient client : simulation.clients) {
            if (client.pending() != 0) {
                simulation.problem("liveness: " + client.process.name() + " has " + client.pending()
                        + " futures that never completed");
            }
        }
        simulation.model.entries().forEach(entry -> simulation.problem("orphan: left behind: " + entry));
        passesOn(simulation, false);
        passesOn(simulation, true);
        simulation.clients.forEach(client -> client.locks().close());
        world.runFor(IDLE);
        simulation.model.entries().forEach(entry -> simulation.problem("orphan: left by a closed client: " + entry));
    }

    private static void passesOn(QueueSimulation simulation, boolean breaksWatches) {
        VirtualWorld world = simulation.world();
        QueueClient second = simulation.clients.get(simulation.clients.size() - 1);
        Lease lease = take(simulation, simulation.clients.get(0).locks());
        if (lease == null) {
            simulation.problem("liveness: a free lock is not granted when all is calm");
            return;
        }
        CompletableFuture<Attempt<Lease>> waiting =
                second.locks().named(QueueSimulation.lock(0)).attemptAsync(PATIENCE);
        world.runFor(Duration.ofMillis(600));
        if (breaksWatches) {
            simulation.model.breakWatches(second.wire);
            world.runFor(AT_ONCE);
        }
        lease.releaseAsync();
        if (!world.runUntil(waiting::isDone, AT_ONCE)) {
            simulation.problem("liveness: a waiter was not woken by the release"
                    + (breaksWatches ? " when its watch had broken" : ""));
            world.runUntil(waiting::isDone, PATIENCE);
        }
        Lease passed = leaseOf(waiting);
        if (passed == null) {
            simulation.problem("liveness: a released lock is not granted to the client that waits for it");
        } else {
            passed.releaseAsync();
        }
        world.runFor(Duration.ofMillis(500));
    }

    private static @Nullable Lease take(QueueSimulation simulation, LockClient client) {
        CompletableFuture<Attempt<Lease>> taken =
                client.named(QueueSimulation.lock(0)).attemptAsync(PATIENCE);
        simulation.world().runUntil(taken::isDone, PATIENCE);
        return leaseOf(taken);
    }

    private static @Nullable Lease leaseOf(CompletableFuture<Attempt<Lease>> attempt) {
        return attempt.isDone() && !attempt.isCompletedExceptionally()
                ? attempt.join().orElseNull()
                : null;
    }
}
