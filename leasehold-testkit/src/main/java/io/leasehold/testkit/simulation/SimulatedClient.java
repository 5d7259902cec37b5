package io.leasehold.testkit.simulation;

import io.leasehold.Attempt;
import io.leasehold.Backoff;
import io.leasehold.Fairness;
import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.MultiLease;
import io.leasehold.Renewal;
import io.leasehold.spi.LockStore;
import io.leasehold.testkit.history.HistoryEvent;
import io.leasehold.testkit.virtual.FaultyNode;
import io.leasehold.testkit.virtual.PausePlan.YieldPoint;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.util.List;
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
    static final Duration NODE_TIMEOUT = Duration.ofMillis(100);

    private final Simulation simulation;
    private final VirtualWorld world;
    private final List<HistoryEvent> history;
    private final SimulatedResource.Connection resource;
    final VirtualRuntime process;
    final List<FaultyNode> links;
    final LockClient locks;
    private final boolean single;
    private boolean stopped;
    private int pending;

    SimulatedClient(Simulation simulation, VirtualRuntime process, List<FaultyNode> links, LockStore store) {
        this.simulation = simulation;
        this.world = process.world();
        this.history = simulation.history;
        this.process = process;
        this.links = links;
        this.single = links.size() == 1;
        this.resource = simulation.resource.new Connection(process);
        this.locks = Leasehold.builder()
                .store(store)
                .runtime(process)
                .label(process.name())
                .listener(new Counting(simulation.counts))
                .defaults(options())
                .connect();
    }

    private LockOptions options() {
        LockOptions options = LockOptions.defaults()
                .ttl(TTL)
                .recheck(Duration.ofSeconds(1))
                .retry(Backoff.exponential(Duration.ofMillis(20), Duration.ofSeconds(1)));
        if (!single) {
            options = options.nodeTimeout(NODE_TIMEOUT);
        }
        return switch ((int) world.randomBelow(7)) {
            case 0 -> options.renewal(Renewal.none());
            case 1 -> options.fairness(Fairness.STRICT_FIFO);
            case 2 -> single ? options.lockDelay(Duration.ofMillis(500)) : options;
            case 3 -> options.maxHold(Duration.ofSeconds(4));
            default -> options;
        };
    }

    void start(int mostTasks) {
        for (long tasks = 1 + world.randomBelow(mostTasks); tasks > 0; tasks--) {
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

    private void later(long mostMillis) {
        if (!stopped) {
            process.schedule(1 + world.randomBelow(mostMillis * 1_000_000), this::next);
        }
    }

    private void next() {
        if (stopped) {
            return;
        }
        Duration patience = Duration.ofMillis(world.chance(0.2) ? 0 : world.randomBelow(5_000));
        if (single && world.chance(0.1)) {
            follow(locks.all(Simulation.lock(0), Simulation.lock(1)).attemptAsync(patience));
        } else {
            follow(locks.named(Simulation.lock(world.chance(0.8) ? 0 : 1)).attemptAsync(patience));
        }
    }

    private <H extends Hold> void follow(CompletableFuture<Attempt<H>> future) {
        pending++;
        if (world.chance(0.1)) {
            process.schedule(world.randomBelow(20_000_000), () -> {
                if (future.cancel(false)) {
                    simulation.counts.saw(Fault.CANCEL);
                }
            });
        }
        future.whenComplete((attempt, error) -> {
            pending--;
            if (attempt instanceof Attempt.Acquired<H> acquired) {
                hold(acquired.lease());
            } else {
                later(4_000);
            }
        });
    }

    private void hold(Hold hold) {
        Map<LockName, Long> tokens = tokens(hold);
        long at = world.elapsedNanos();
        long until = believedUntil(hold);
        tokens.forEach(
                (lock, token) -> history.add(new HistoryEvent.Acquired(at, process.name(), lock.text(), token, until)));
        tokens.forEach(simulation::mustHaveBeenWon);
        long holdFor = world.chance(0.2) ? 6_000_000_000L : 400_000_000L;
        long steps = 1 + world.randomBelow(4);
        Work work = new Work(hold, tokens, world.randomBelow(holdFor) / steps);
        Map.Entry<LockName, Long> first = tokens.entrySet().iterator().next();
        work.first(first.getKey().text(), first.getValue(), steps);
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

    /** For how long, in the world's time, the holder will go on believing if it looks at nothing but its clock. */
    private long believedUntil(Hold hold) {
        long leftNanos = hold.remainingValidity().toNanos();
        return leftNanos == 0 ? world.elapsedNanos() : process.worldNanosAfter(leftNanos);
    }

    /** What is done under one hold: a read, then some writes, each after a look at the lease. */
    private final class Work {
        private final Hold hold;
        private final Map<LockName, Long> tokens;
        private final long stepNanos;

        Work(Hold hold, Map<LockName, Long> tokens, long stepNanos) {
            this.hold = hold;
            this.tokens = tokens;
            this.stepNanos = stepNanos;
        }

        void first(String lock, long token, long steps) {
            ifHeld(() -> resource.read(lock, token, seen -> use(lock, token, seen, steps)));
        }

        private void use(String lock, long token, SimulatedResource.Answer seen, long steps) {
            if (!seen.accepted() || steps == 0) {
                end(seen.accepted() ? "released" : "refused");
                return;
            }
            process.schedule(1 + stepNanos, () -> {
                if (world.chance(0.04)) {
                    pending++;
                    hold.renewAsync().whenComplete((done, error) -> pending--);
                }
                ifHeld(() -> resource.write(lock, token, seen, next -> use(lock, token, next, steps - 1)));
            });
        }

        /** Looks at the lease, perhaps stands still, and goes on. */
        private void ifHeld(Runnable then) {
            long at = world.elapsedNanos();
            long until = believedUntil(hold);
            if (until <= at) {
                end("lost");
                return;
            }
            tokens.forEach((lock, token) ->
                    history.add(new HistoryEvent.Extended(at, process.name(), lock.text(), token, until)));
            long pauseNanos = simulation.pauseNanos(YieldPoint.BEFORE_USE);
            if (pauseNanos > 0) {
                process.freeze(Duration.ofNanos(pauseNanos));
                process.execute(then);
            } else {
                then.run();
            }
        }

        private void end(String how) {
            long at = world.elapsedNanos();
            tokens.forEach(
                    (lock, token) -> history.add(new HistoryEvent.Ended(at, process.name(), lock.text(), token, how)));
            pending++;
            hold.releaseAsync().whenComplete((outcome, error) -> {
                pending--;
                later(3_000);
            });
        }
    }
}
