package io.leasehold.simulator;

import io.leasehold.Acquirable;
import io.leasehold.Attempt;
import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener.AttemptOutcome;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.simulator.history.HistoryEvent;
import io.leasehold.spi.LockStore;
import io.leasehold.testkit.virtual.FaultyNode;
import io.leasehold.testkit.virtual.PausePlan.YieldPoint;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * A client process in which a few tasks acquire, use, lose and release locks at random, through the real engine, and
 * record their beliefs.
 */
@SuppressWarnings("FutureReturnValueIgnored")
final class SimulatedClient implements Cluster.ClientProcess {

    /** A request that has begun when the time is up is awaited; it may be a second one, whose reply is the last. */
    private static final Duration MAX_OVERTIME = ClientOptions.ANSWER.multipliedBy(2);

    /** Short, so that a grant that is handed over reaches the bound of the local hand-over, and the least validity. */
    private static final long BRIEFLY_NANOS = 5_000_000L;

    /** Waits without limit. */
    private static final Duration FOR_EVER = ChronoUnit.FOREVER.getDuration();

    private final Simulation simulation;
    private final RunLog log;
    final Pauses pauses;
    private final Standstills standstills;
    private final VirtualWorld world;
    private final List<HistoryEvent> history;
    private final SimulatedResource.Connection resource;
    final VirtualRuntime process;
    final List<FaultyNode> links;
    private final List<WatchedLink> watched;
    final WatchedStore store;
    private final LockOptions options;
    private final HolderChecks checks;
    final LockClient locks;

    private boolean stopped;
    private int pending;
    private final Map<LockName, Integer> wanted = new TreeMap<>();
    /**
     * The time at which the last lease of each lock was created, and the number of pauses of this process until then.
     */
    private final Map<LockName, Moment> made = new TreeMap<>();

    private final List<Shown> shown = new ArrayList<>();

    private record Moment(long nanos, int mark) {}

    /**
     * Starts a process.
     *
     * @param ofNodes creates a store from the messages to each node
     */
    SimulatedClient(
            Simulation simulation,
            VirtualRuntime process,
            List<FaultyNode> links,
            Function<List<WatchedLink>, LockStore> ofNodes) {
        this.simulation = simulation;
        this.world = process.world();
        this.log = simulation.log;
        this.history = log.history;
        this.pauses = simulation.pausesOf(process);
        this.standstills = pauses.standstills();
        this.process = process;
        this.links = links;
        this.resource = simulation.resource.new Connection(process);
        this.watched = links.stream()
                .map(link -> new WatchedLink(link, process, standstills, log))
                .toList();
        LockStore ofThem = ofNodes.apply(watched);
        this.options = ClientOptions.draw(world, links.size() == 1);
        this.store = new WatchedStore(
                ofThem, process, standstills, new RenewalDuty(options), log, simulation.waits::changed);
        this.checks = new HolderChecks(process, standstills, store, options, log, this::mustBeKeptFor);
        this.locks = Leasehold.builder()
                .store(this.store)
                .runtime(process)
                .label(process.name())
                .listener(new ClientListener(log.counts))
                .defaults(options)
                .connect();
    }

    /** Receives each lease when it is created and when it is lost, inline. */
    private final class ClientListener extends Counting {
        ClientListener(Counts counts) {
            super(counts);
        }

        @Override
        public void attemptEnded(AttemptEnded event) {
            super.attemptEnded(event);
            if (event.outcome() == AttemptOutcome.ACQUIRED) {
                made.put(event.name(), new Moment(world.elapsedNanos(), standstills.mark()));
            }
        }

        @Override
        public void lost(Lost event) {
            super.lost(event);
            store.lost(event.name(), event.fencingToken());
            for (Shown one : shown) {
                one.lost(event.name(), event.fencingToken());
            }
        }
    }

    @Override
    public VirtualRuntime process() {
        return process;
    }

    @Override
    public List<FaultyNode> links() {
        return links;
    }

    @Override
    public void freeze(Duration span) {
        pauses.freeze(span);
    }

    @Override
    public void sleep(Duration span) {
        pauses.sleep(span);
    }

    /** Checks this lease, and releases it a little later. */
    void showBriefly(Lease lease) {
        look(lease, Shown.tokens(lease), pauses.believedUntil(lease));
        process.schedule(BRIEFLY_NANOS, lease::releaseAsync);
    }

    /** Whether an attempt of this client waits only for this lock. */
    boolean wants(LockName name) {
        return wanted.getOrDefault(name, 0) > 0;
    }

    private void wants(LockName name, int more) {
        wanted.merge(name, more, Integer::sum);
        simulation.waits.changed(name);
    }

    void start(int mostTasks) {
        for (long tasks = 1 + world.randomBelow(mostTasks); tasks > 0; tasks--) {
            process.execute(this::next);
        }
    }

    @Override
    public void stop() {
        stopped = true;
    }

    /** The number of incomplete futures of this client, and of holds that it has not released. */
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
        Habits habits = simulation.habits;
        Duration patience = Duration.ofMillis(world.chance(0.2) ? 0 : world.randomBelow(5_000));
        if (world.randomBelow(100) < habits.patient()) {
            patience = FOR_EVER;
        }
        if (world.randomBelow(100) < habits.several()) {
            List<LockName> names = new ArrayList<>(List.of(Simulation.lock(0), Simulation.lock(1), Simulation.lock(2)));
            if (world.chance(0.6)) {
                names.remove((int) world.randomBelow(3));
            }
            log.counts.saw("several at once");
            attempt(locks.all(names.toArray(LockName[]::new)), patience, names);
        } else {
            LockName name = Simulation.lock(world.chance(0.8) ? 0 : 1);
            attempt(locks.named(name), patience, List.of(name));
        }
    }

    private <H extends Hold> void attempt(Acquirable<H> lock, Duration patience, List<LockName> names) {
        long beganAtNanos = process.nanoTime();
        int mark = standstills.mark();
        CompletableFuture<Attempt<H>> future = lock.attemptAsync(patience);
        if (names.size() > 1 && simulation.fallsAsleep()) {
            // The request is in flight, and its reply arrives while the machine sleeps.
            sleep(Duration.ofNanos(Pauses.UNNOTICED_SLEEP_NANOS + world.randomBelow(3_000_000_000L)));
        }
        pending++;
        LockName one = names.get(0);
        if (names.size() == 1) {
            wants(one, 1);
        }
        if (world.chance(0.1)) {
            process.schedule(world.randomBelow(20_000_000), () -> {
                if (future.cancel(false)) {
                    log.counts.saw(Fault.CANCEL);
                }
            });
        }
        future.whenComplete((attempt, error) -> {
            pending--;
            if (names.size() == 1) {
                wants(one, -1);
            }
            long waitedNanos = process.nanoTime() - beganAtNanos;
            if (!patience.equals(FOR_EVER)
                    && standstills.hasRunSince(mark)
                    && waitedNanos
                            > patience.plus(MAX_OVERTIME.multipliedBy(names.size()))
                                    .toNanos()) {
                log.problem("patience: " + process.name() + " waited " + Duration.ofNanos(waitedNanos) + " for " + names
                        + " with a patience of " + patience + ", until " + world.elapsed());
            }
            if (attempt instanceof Attempt.Acquired<H> acquired) {
                hold(acquired.lease());
            } else {
                later(simulation.habits.thinkMillis());
            }
        });
    }

    private void hold(Hold hold) {
        Map<LockName, Long> tokens = Shown.tokens(hold);
        long at = world.elapsedNanos();
        long until = pauses.believedUntil(hold);
        tokens.forEach(
                (lock, token) -> history.add(new HistoryEvent.Acquired(at, process.name(), lock.text(), token, until)));
        look(hold, tokens, until);
        Shown one = new Shown(log, process.name(), hold, tokens);
        shown.add(one);
        long holdFor = world.chance(0.2) && !stopped ? 6_000_000_000L : 400_000_000L;
        long steps = 1 + world.randomBelow(4);
        Work work = new Work(one, world.randomBelow(holdFor) / steps);
        if (world.randomBelow(100) < simulation.habits.quick()) {
            work.end("released");
            return;
        }
        Map.Entry<LockName, Long> first = tokens.entrySet().iterator().next();
        work.first(first.getKey().text(), first.getValue(), steps);
    }

    /** Checks a lease when its holder receives it. */
    private void look(Hold hold, Map<LockName, Long> tokens, long until) {
        // Several locks reach the holder when the last lease was created; a process that has paused since then sees
        // less validity of all.
        boolean justNow = false;
        for (Map.Entry<LockName, Long> token : tokens.entrySet()) {
            LockName name = token.getKey();
            boolean now = new Moment(world.elapsedNanos(), standstills.count()).equals(made.get(name));
            store.shown(name, token.getValue(), now);
            simulation.mustHaveBeenWon(name, token.getValue(), store.ownerOf(name, token.getValue()));
            justNow |= now;
        }
        mustBeKept(tokens, until);
        Duration left = hold.remainingValidity();
        // A lease that was slept through begins unconfirmed.
        if (justNow && !left.isZero() && left.compareTo(options.minimumValidity()) < 0) {
            log.problem("validity: " + tokens.keySet() + " was shown with " + left + " left, below the minimum of "
                    + options.minimumValidity() + ", at " + world.elapsed());
        }
    }

    /**
     * Checks that a holder does not believe in a lease for longer than its nodes keep it, for each of several locks.
     */
    private void mustBeKept(Map<LockName, Long> tokens, long until) {
        tokens.forEach(
                (name, token) -> simulation.mustBeKept(name, store.ownerOf(name, token), until, world.elapsedNanos()));
    }

    /** Checks that the nodes keep the lease as long as a passed check of the validity promised. */
    private void mustBeKeptFor(Map<LockName, Long> tokens, Duration span) {
        mustBeKept(tokens, pauses.believedUntil(span.toNanos()));
    }

    /** Judges the client at the end: the store carried out its requests, and every loss was reported. */
    void judge() {
        watched.forEach(WatchedLink::judge);
        store.judge();
        shown.forEach(Shown::judge);
    }

    /** The work of one hold: a read, then some writes, each after a check of the lease. */
    private final class Work {
        private final Shown shown;
        private final Hold hold;
        private final Map<LockName, Long> tokens;
        private final long stepNanos;

        Work(Shown shown, long stepNanos) {
            this.shown = shown;
            this.hold = shown.hold;
            this.tokens = shown.tokens;
            this.stepNanos = stepNanos;
            // Until the reply to its end: a lease in use after the calm is no orphan.
            pending++;
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
                if (world.chance(0.1)) {
                    pending++;
                    checks.ask(shown, () -> pending--);
                }
                ifHeld(() -> resource.write(lock, token, seen, next -> use(lock, token, next, steps - 1)));
            });
        }

        /** Checks the lease, may pause, and continues. */
        private void ifHeld(Runnable then) {
            long at = world.elapsedNanos();
            long until = pauses.believedUntil(hold);
            if (hold.remainingValidity().isZero()) {
                end("lost");
                return;
            }
            tokens.forEach((lock, token) ->
                    history.add(new HistoryEvent.Extended(at, process.name(), lock.text(), token, until)));
            mustBeKept(tokens, until);
            long pauseNanos = simulation.pauseNanos(YieldPoint.BEFORE_USE);
            if (pauseNanos > 0) {
                freeze(Duration.ofNanos(pauseNanos));
                process.execute(then);
            } else {
                then.run();
            }
        }

        private void end(String how) {
            long at = world.elapsedNanos();
            tokens.forEach(
                    (lock, token) -> history.add(new HistoryEvent.Ended(at, process.name(), lock.text(), token, how)));
            shown.givenBack();
            hold.releaseAsync().whenComplete((outcome, error) -> {
                pending--;
                later(simulation.habits.thinkMillis() * 3L / 4);
            });
        }
    }
}
