package io.leasehold.simulator;

import io.leasehold.Acquirable;
import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.Permit;
import io.leasehold.WriteLease;
import io.leasehold.fencing.Access;
import io.leasehold.fencing.Admission;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.toolkit.PermitsByLocks;
import io.leasehold.testkit.virtual.FaultyNode;
import io.leasehold.testkit.virtual.PausePlan.YieldPoint;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A client process whose tasks hold leases of one kind, use and lose them, and record what they believe. */
@SuppressWarnings("FutureReturnValueIgnored")
final class KindClient implements Cluster.ClientProcess {

    private static final Duration FOR_EVER = ChronoUnit.FOREVER.getDuration();

    private final KindSimulation simulation;
    private final VirtualRuntime process;
    private final VirtualWorld world;
    private final List<FaultyNode> links;
    private final Pauses pauses;
    private final LockClient locks;
    private boolean stopped;
    private int pending;

    KindClient(KindSimulation simulation, VirtualRuntime process, List<FaultyNode> links, Pauses pauses) {
        this.simulation = simulation;
        this.process = process;
        this.world = process.world();
        this.links = links;
        this.pauses = pauses;
        LockStore store = new ClaimCounting(Cluster.store(links, process), simulation.log.counts);
        this.locks = Leasehold.builder()
                .store(
                        simulation.kind == LeaseKind.PERMITS && links.size() > 1
                                ? new PermitsByLocks(store, process)
                                : store)
                .runtime(process)
                .label(process.name())
                .listener(new Counting(simulation.log.counts))
                .defaults(ClientOptions.draw(world, links.size() == 1))
                .connect();
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

    @Override
    public void stop() {
        stopped = true;
    }

    /** Whether every future of this client is completed, and no task holds a lease. */
    boolean isIdle() {
        return pending == 0;
    }

    void close() {
        locks.close();
    }

    void start(int mostTasks) {
        for (long tasks = 1 + world.randomBelow(mostTasks); tasks > 0; tasks--) {
            process.execute(this::next);
        }
    }

    private void later() {
        if (!stopped) {
            process.schedule(1 + world.randomBelow(1_500_000_000L), this::next);
        }
    }

    private void next() {
        if (stopped) {
            return;
        }
        if (!simulation.tickets.isEmpty() && world.chance(0.4)) {
            int newest = simulation.tickets.size() - 1;
            resume(simulation.tickets.get(newest - (int) world.randomBelow(Math.min(3, newest + 1))));
        } else {
            attempt(acquirable(world.chance(0.3)), patience());
        }
    }

    private Duration patience() {
        return world.chance(0.2) ? FOR_EVER : Duration.ofMillis(world.chance(0.2) ? 0 : world.randomBelow(5_000));
    }

    private Acquirable<? extends Lease> acquirable(boolean writes) {
        return switch (simulation.kind) {
            case READERS ->
                writes
                        ? locks.readWrite(KindSimulation.NAME).write()
                        : locks.readWrite(KindSimulation.NAME).read();
            case PERMITS -> locks.permits(KindSimulation.NAME, simulation.count);
            case TICKETS, LOCKS -> locks.named(KindSimulation.NAME);
        };
    }

    private <L extends Lease> void attempt(Acquirable<L> lock, Duration patience) {
        pending++;
        CompletableFuture<Attempt<L>> future = lock.attemptAsync(patience);
        if (world.chance(0.1)) {
            process.schedule(world.randomBelow(20_000_000), () -> {
                if (future.cancel(false)) {
                    simulation.log.saw(Fault.CANCEL);
                }
            });
        }
        future.whenComplete((attempt, error) -> {
            pending--;
            if (attempt instanceof Attempt.Acquired<L> acquired) {
                new Work(acquired.lease()).begin();
            } else {
                later();
            }
        });
    }

    private void resume(KindSimulation.Issued one) {
        pending++;
        locks.resumeAsync(one.ticket, Duration.ofMillis(world.randomBelow(4_000)))
                .whenComplete((lease, error) -> {
                    pending--;
                    if (lease == null) {
                        simulation.log.counts.saw("tickets refused or not confirmed");
                        later();
                        return;
                    }
                    simulation.resumed(one, lease.fencingToken());
                    new Work(lease).begin();
                });
    }

    /** Acquires a lease of each sort and releases it, within this time; for the calm. */
    boolean takesAndReleases(Duration patience) {
        for (boolean writes :
                simulation.kind == LeaseKind.READERS ? new boolean[] {true, false} : new boolean[] {true}) {
            CompletableFuture<? extends Attempt<? extends Lease>> taken =
                    acquirable(writes).attemptAsync(patience);
            world.runUntil(taken::isDone, patience);
            if (!taken.isDone()
                    || taken.isCompletedExceptionally()
                    || !(taken.join() instanceof Attempt.Acquired<?> acquired)) {
                return false;
            }
            CompletableFuture<?> released = ((Lease) acquired.lease()).releaseAsync();
            world.runUntil(released::isDone, patience);
        }
        return true;
    }

    /** The use of one lease: some checks of it, each followed by a contact with the resource. */
    private final class Work {
        private final Lease lease;
        private final String lock;
        private final Access access;
        private final KindSpans.Span span;
        private final long stepNanos;
        private long steps = 1 + world.randomBelow(4);

        Work(Lease lease) {
            this.lease = lease;
            this.lock = KindSimulation.NAME.text() + (lease instanceof Permit permit ? "#" + permit.slot() : "");
            this.access = Access.of(lease);
            this.span = simulation.spans.begins(
                    process.name(),
                    lock,
                    access == Access.READ,
                    lease.fencingToken(),
                    world.elapsedNanos(),
                    pauses.believedUntil(lease));
            this.stepNanos = world.randomBelow(world.chance(0.2) ? 5_000_000_000L : 400_000_000L) / steps;
            if (lease instanceof Permit permit && permit.slot() >= simulation.count) {
                simulation.log.problem(
                        "slots: " + permit.slot() + " of " + simulation.count + ", at " + world.elapsed());
            }
            // Until the answer to its end: a lease in use is no orphan.
            pending++;
        }

        void begin() {
            use();
        }

        private void use() {
            long now = world.elapsedNanos();
            long until = pauses.believedUntil(lease);
            if (until <= now) {
                end("lost");
                return;
            }
            simulation.spans.extended(span, now, until);
            contact();
            if (--steps == 0) {
                finish();
                return;
            }
            process.schedule(1 + stepNanos, () -> {
                long pauseNanos = pauses.pauseNanos(YieldPoint.BEFORE_USE);
                if (pauseNanos > 0) {
                    freeze(Duration.ofNanos(pauseNanos));
                    process.execute(this::use);
                } else {
                    use();
                }
            });
        }

        /** The resource must not refuse a valid lease: each later one has a larger token. */
        private void contact() {
            Admission admission = simulation.resource.admit(lock, lease.fencingToken(), access);
            if (admission instanceof Admission.Rejected rejected) {
                simulation.log.counts.saw("refused by the resource");
                if (simulation.promisesExclusion()) {
                    simulation.log.problem("resource: it refused the valid lease " + span + " for " + rejected.newest()
                            + ", at " + world.elapsed());
                }
            }
        }

        private void finish() {
            if (lease instanceof WriteLease writer && simulation.kind == LeaseKind.READERS && world.chance(0.4)) {
                downgrade(writer);
            } else if (simulation.kind == LeaseKind.TICKETS && world.chance(0.5)) {
                export();
            } else {
                end("released");
            }
        }

        private void downgrade(WriteLease writer) {
            simulation.spans.ends(span, world.elapsedNanos(), "downgraded");
            writer.downgradeAsync().whenComplete((reader, error) -> {
                pending--;
                if (reader == null) {
                    later();
                } else {
                    simulation.log.counts.saw("downgrades");
                    new Work(reader).begin();
                }
            });
        }

        private void export() {
            simulation.spans.ends(span, world.elapsedNanos(), "exported");
            lease.exportAsync(Duration.ofMillis(500 + world.randomBelow(2_400))).whenComplete((ticket, error) -> {
                pending--;
                if (ticket != null) {
                    simulation.tickets.add(new KindSimulation.Issued(ticket, lease.fencingToken()));
                } else {
                    simulation.log.counts.saw("exports that failed");
                }
                later();
            });
        }

        private void end(String how) {
            simulation.spans.ends(span, world.elapsedNanos(), how);
            lease.releaseAsync().whenComplete((outcome, error) -> {
                pending--;
                later();
            });
        }
    }
}
