package io.leasehold.verify.queue;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.testkit.virtual.VirtualWorld;
import io.leasehold.verify.run.SimulatedRun;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Checks the calm after a run. Every future is completed, no entry is left behind, and a free lock is granted. A
 * released lock goes at once to the waiting client, even if the way of its notification has broken meanwhile. A closed
 * client leaves nothing.
 */
@SuppressWarnings("FutureReturnValueIgnored")
final class QueueAftermath {

    /**
     * Longer than the longest hold, the remaining life of a lease or a session, and the time for which a connection may
     * hang.
     */
    private static final Duration CALM = Duration.ofSeconds(20);

    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final Duration AT_ONCE = Duration.ofMillis(100);
    private static final Duration IDLE = Duration.ofSeconds(60);

    private final SimulatedRun<QueueFault> run;
    private final QueueModel model;
    private final List<QueueClient> clients;
    private final VirtualWorld world;

    QueueAftermath(SimulatedRun<QueueFault> run, QueueModel model, List<QueueClient> clients) {
        this.run = run;
        this.model = model;
        this.clients = clients;
        this.world = run.world();
    }

    void check() {
        world.runFor(CALM);
        clients.forEach(client -> client.requireNonePending());
        model.entries().forEach(entry -> run.problem("orphan: left behind: " + entry));
        passesOn(false);
        passesOn(true);
        clients.forEach(client -> locks(client).close());
        world.runFor(IDLE);
        model.entries().forEach(entry -> run.problem("orphan: left by a closed client: " + entry));
    }

    private static LockClient locks(QueueClient client) {
        return Objects.requireNonNull(client.locks());
    }

    private void passesOn(boolean breaksWatches) {
        QueueClient second = clients.get(clients.size() - 1);
        Lease lease = take(locks(clients.get(0)));
        if (lease == null) {
            run.problem("liveness: a free lock is not granted when all is calm");
            return;
        }
        CompletableFuture<Attempt<Lease>> waiting =
                locks(second).named(SimulatedRun.lock(0)).attemptAsync(PATIENCE);
        world.runFor(Duration.ofMillis(600));
        if (breaksWatches) {
            model.breakWatches(second.wire);
            world.runFor(AT_ONCE);
        }
        lease.releaseAsync();
        if (!world.runUntil(waiting::isDone, AT_ONCE)) {
            run.problem("liveness: a waiter was not woken by the release"
                    + (breaksWatches ? " when its watch had broken" : ""));
            world.runUntil(waiting::isDone, PATIENCE);
        }
        Lease passed = leaseOf(waiting);
        if (passed == null) {
            run.problem("liveness: a released lock is not granted to the client that waits for it");
        } else {
            passed.releaseAsync();
        }
        world.runFor(Duration.ofMillis(500));
    }

    private @Nullable Lease take(LockClient client) {
        CompletableFuture<Attempt<Lease>> taken =
                client.named(SimulatedRun.lock(0)).attemptAsync(PATIENCE);
        world.runUntil(taken::isDone, PATIENCE);
        return leaseOf(taken);
    }

    private static @Nullable Lease leaseOf(CompletableFuture<Attempt<Lease>> attempt) {
        return attempt.isDone() && !attempt.isCompletedExceptionally()
                ? attempt.join().orElseNull()
                : null;
    }
}
