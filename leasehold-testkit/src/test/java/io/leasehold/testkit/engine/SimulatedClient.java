package io.leasehold.testkit.engine;

import io.leasehold.Attempt;
import io.leasehold.Backoff;
import io.leasehold.Fairness;
import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.MultiLease;
import io.leasehold.Renewal;
import io.leasehold.ballot.SingleNodeStore;
import io.leasehold.spi.LockNode;
import io.leasehold.testkit.history.HistoryEvent;
import io.leasehold.testkit.virtual.FaultyNode;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

/**
 * A client process in which a few tasks acquire, use, lose and give up locks at random, through the real engine, and
 * write down what they believe.
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
                .store(new SingleNodeStore(simulation.new Rising(link), process))
                .runtime(process)
                .label(name)
                .listener(new Counting())
                .defaults(options())
                .connect();
    }

    private LockOptions options() {
        LockOptions options = LockOptions.defaults()
                .ttl(TTL)
                .recheck(Duration.ofMillis(500))
                .retry(Backoff.exponential(Duration.ofMillis(5), Duration.ofMillis(300)));
        return switch ((int) world.randomBelow(6)) {
            case 0 -> options.renewal(Renewal.none());
            case 1 -> options.fairness(Fairness.STRICT_FIFO);
            case 2 -> options.lockDelay(Duration.ofMillis(500));
            case 3 -> options.maxHold(Duration.ofSeconds(4));
            default -> options;
        };
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
        for (long tasks = 1 + world.randomBelow(3); tasks > 0; tasks--) {
            process.execute(this::next);
        }
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
        Duration patience = Duration.ofMillis(world.chance(0.2) ? 0 : world.randomBelow(5_000));
        if (world.chance(0.15)) {
            follow(locks.all(Simulation.lock(0), Simulation.lock(1)).attemptAsync(patience));
        } else {
            follow(locks.named(Simulation.lock(world.randomBelow(Simulation.LOCKS)))
                    .attemptAsync(patience));
        }
    }

    private <H extends Hold> void follow(CompletableFuture<Attempt<H>> future) {
        pending++;
        if (world.chance(0.15)) {
            process.schedule(world.randomBelow(20_000_000), () -> future.cancel(false));
        }
        future.whenComplete((attempt, error) -> {
            pending--;
            if (attempt instanceof Attempt.Acquired<H> acquired) {
                hold(acquired.lease());
            } else {
                process.schedule(1 + world.randomBelow(200_000_000), this::next);
            }
        });
    }

    private void hold(Hold hold) {
        Map<LockName, Long> tokens = tokens(hold);
        long at = world.elapsedNanos();
        long until = at + believed(hold);
        tokens.forEach((lock, token) ->
                simulation.history.add(new HistoryEvent.Acquired(at, name, lock.text(), token, until)));
        world.note(name + " acquired " + tokens);
        hold.onLost(cause -> world.note(name + " lost " + tokens + " " + cause));
        long holdFor = world.chance(0.2) ? 6_000_000_000L : 300_000_000L;
        long steps = 1 + world.randomBelow(6);
        use(hold, tokens, steps, world.randomBelow(holdFor) / steps);
    }

    private static Map<LockName, Long> tokens(Hold hold) {
        Map<LockName, Long> tokens = new TreeMap<>();
        if (hold instanceof Lease lease) {
            tokens.put(lease.lockName(), lease.fencingToken());
        } else if (hold instanceof MultiLease lease) {
            lease.lockNames().forEach(lock -> tokens.put(lock, lease.fencingToken(lock)));
        }
        return tokens;
    }

    private void use(Hold hold, Map<LockName, Long> tokens, long steps, long stepNanos) {
        long at = world.elapsedNanos();
        long believed = believed(hold);
        if (believed > 0) {
            tokens.forEach((lock, token) ->
                    simulation.history.add(new HistoryEvent.Extended(at, name, lock.text(), token, at + believed)));
        }
        if (steps > 0 && believed > 0) {
            process.schedule(1 + stepNanos, () -> use(hold, tokens, steps - 1, stepNanos));
            if (world.chance(0.05)) {
                pending++;
                hold.renewAsync().whenComplete((done, error) -> pending--);
            }
            return;
        }
        String how = believed > 0 ? "released" : "lost";
        tokens.forEach(
                (lock, token) -> simulation.history.add(new HistoryEvent.Ended(at, name, lock.text(), token, how)));
        pending++;
        hold.releaseAsync().whenComplete((outcome, error) -> {
            pending--;
            process.schedule(1 + world.randomBelow(50_000_000), this::next);
        });
    }

    /** For how long, in the world's time, the holder will go on believing if it looks at nothing but its clock. */
    private long believed(Hold hold) {
        return (long) (hold.remainingValidity().toNanos() / rate);
    }
}
