package io.leasehold.testkit.engine;

import io.leasehold.Attempt;
import io.leasehold.Backoff;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockOptions;
import io.leasehold.ballot.SingleNodeStore;
import io.leasehold.spi.LockNode;
import io.leasehold.testkit.history.HistoryEvent;
import io.leasehold.testkit.virtual.FaultyNode;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * A client process that acquires, uses, loses and gives up locks at random, through the real engine, and writes down
 * what it believes.
 */
@SuppressWarnings("FutureReturnValueIgnored")
final class SimulatedClient {

    static final Duration TTL = Duration.ofSeconds(2);

    private final Simulation simulation;
    private final VirtualWorld world;
    private final String name;
    private final double rate;
    final VirtualRuntime process;
    final FaultyNode link;
    final LockClient locks;
    private boolean stopped;
    private int pending;

    SimulatedClient(Simulation simulation, String name, LockNode node) {
        this.simulation = simulation;
        this.world = simulation.world;
        this.name = name;
        process = world.process(name);
        // All clocks together stay within the drift that a ttl allows for: 1 %.
        rate = 1.0 + (world.randomBelow(801) - 400) / 100_000.0;
        process.monotonicRate(rate);
        link = new FaultyNode(node, process, simulation.host);
        locks = Leasehold.builder()
                .store(new SingleNodeStore(link, process))
                .runtime(process)
                .label(name)
                .listener(new Counting())
                .defaults(LockOptions.defaults()
                        .ttl(TTL)
                        .recheck(Duration.ofMillis(500))
                        .retry(Backoff.exponential(Duration.ofMillis(5), Duration.ofMillis(300))))
                .connect();
    }

    /** Counts what happened, so that a run can insist that everything did. */
    private final class Counting implements LockListener {
        @Override
        public void attemptEnded(AttemptEnded event) {
            simulation.count("attempt " + event.outcome());
        }

        @Override
        public void renewed(Renewed event) {
            simulation.count("renewal " + event.outcome());
        }

        @Override
        public void atRisk(AtRisk event) {
            simulation.count("at risk");
        }

        @Override
        public void lost(Lost event) {
            simulation.count("lost " + event.cause());
        }

        @Override
        public void released(Released event) {
            simulation.count("release " + event.outcome());
        }
    }

    void start() {
        process.execute(this::next);
    }

    /** Begins nothing new. */
    void stop() {
        stopped = true;
    }

    /** Futures of this client that are not completed. */
    int pending() {
        return pending;
    }

    private void next() {
        if (stopped) {
            return;
        }
        String lock = "lock-" + world.randomBelow(Simulation.LOCKS);
        Duration patience = Duration.ofMillis(world.chance(0.2) ? 0 : world.randomBelow(5_000));
        CompletableFuture<Attempt<Lease>> future = locks.named(lock).attemptAsync(patience);
        pending++;
        if (world.chance(0.15)) {
            process.schedule(world.randomBelow(20_000_000), () -> future.cancel(false));
        }
        future.whenComplete((attempt, error) -> {
            pending--;
            if (attempt instanceof Attempt.Acquired<Lease> acquired) {
                hold(acquired.lease());
            } else {
                process.schedule(1 + world.randomBelow(200_000_000), this::next);
            }
        });
    }

    private void hold(Lease lease) {
        long at = world.elapsedNanos();
        simulation.history.add(new HistoryEvent.Acquired(
                at, name, lease.lockName().text(), lease.fencingToken(), at + believed(lease)));
        world.note(name + " acquired " + lease.lockName() + " " + lease.fencingToken());
        lease.onLost(cause -> world.note(name + " lost " + lease.fencingToken() + " " + cause));
        long holdFor = world.chance(0.2) ? 6_000_000_000L : 300_000_000L;
        long steps = 1 + world.randomBelow(6);
        use(lease, steps, world.randomBelow(holdFor) / steps);
    }

    private void use(Lease lease, long steps, long stepNanos) {
        long at = world.elapsedNanos();
        long believed = believed(lease);
        if (believed > 0) {
            simulation.history.add(
                    new HistoryEvent.Extended(at, name, lease.lockName().text(), lease.fencingToken(), at + believed));
        }
        if (steps > 0 && believed > 0) {
            process.schedule(1 + stepNanos, () -> use(lease, steps - 1, stepNanos));
            return;
        }
        simulation.history.add(new HistoryEvent.Ended(
                at, name, lease.lockName().text(), lease.fencingToken(), believed > 0 ? "released" : "lost"));
        pending++;
        lease.releaseAsync().whenComplete((outcome, error) -> {
            pending--;
            process.schedule(1 + world.randomBelow(50_000_000), this::next);
        });
    }

    /** For how long, in the world's time, the holder will go on believing if it looks at nothing but its clock. */
    private long believed(Lease lease) {
        return (long) (lease.remainingValidity().toNanos() / rate);
    }
}
