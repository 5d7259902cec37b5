package io.leasehold.verify.queue;

import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import io.leasehold.verify.run.FaultPlan;
import io.leasehold.verify.run.LockTasks;
import io.leasehold.verify.run.RunResult;
import io.leasehold.verify.run.SimulatedRun;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One run of a plan: the cluster, its clients, and their faults. */
final class QueueSimulation implements LockTasks.Beliefs {

    private final QueuePlan plan;
    private final SimulatedRun<QueueFault> run;
    private final QueueRun cluster;
    private final QueueModel model;
    private final VirtualWorld world;
    private final List<QueueClient> clients = new ArrayList<>();
    private final List<QueueClient> all = new ArrayList<>();
    private int named;

    QueueSimulation(QueuePlan plan, @Nullable Consumer<String> trace) {
        this.plan = plan;
        this.run = new SimulatedRun<>(plan, trace);
        this.world = run.world();
        this.cluster = new QueueRun(run);
        run.runWrong(cluster.host(), QueueFault.CLUSTER_CLOCK_RATE);
        this.model = plan.kind().model(cluster);
        for (int i = 0; i < plan.clients(); i++) {
            begin();
        }
        run.schedule(this::inflict);
    }

    /** Checks that a holder does not believe for longer than the cluster keeps its entry. */
    @Override
    public void mustKeep(String lock, long token, long untilNanos) {
        OptionalLong kept = model.keptUntilNanos(lock, token);
        if (kept.isEmpty() || kept.getAsLong() + 2_000 < untilNanos) {
            run.problem("validity: token " + token + " of " + lock + " is believed in until " + untilNanos / 1e9
                    + ", and the cluster keeps it until "
                    + (kept.isEmpty() ? "before" : "" + kept.getAsLong() / 1e9));
        }
    }

    private void begin() {
        VirtualRuntime process = world.process("client-" + ++named);
        run.runWrong(process, QueueFault.CLIENT_CLOCK_RATE);
        QueueWire wire = new QueueWire(cluster, process);
        wire.faults(run.drawnFaults());
        QueueClient client =
                new QueueClient(run, cluster, wire, this, plan.kind().hasReaders());
        clients.add(client);
        all.add(client);
        client.start(model, plan.kind().ttl());
    }

    private void inflict(FaultPlan.Harm<QueueFault> harm) {
        QueueClient client = clients.get(harm.client() % clients.size());
        QueueWire wire = client.wire;
        Duration span = Duration.ofMillis(harm.millis());
        run.saw(harm.fault());
        switch (harm.fault()) {
            case CUT_REQUESTS -> {
                wire.requests().cut();
                world.after(span, wire.requests()::heal);
            }
            case CUT_REPLIES -> {
                wire.replies().cut();
                world.after(span, wire.replies()::heal);
            }
            case STALL -> {
                wire.requests().stall();
                wire.replies().stall();
                world.after(span, () -> {
                    wire.requests().resume();
                    wire.replies().resume();
                });
            }
            case WATCH_BROKEN -> model.breakWatches(wire);
            case NEW_LEADER -> model.newLeader();
            case CLIENT_FREEZE -> wire.process().freeze(span);
            // A suspension of less than a tenth of a second is not detected: see SuspendWatch.
            case CLIENT_SUSPEND -> wire.process().suspend(span.plusMillis(150));
            case CLIENT_CRASH -> {
                wire.process().crash();
                clients.remove(client);
                begin();
            }
            case CLUSTER_FREEZE -> cluster.host().freeze(span.dividedBy(3));
            case FORCED_RELEASE -> model.forceRelease(SimulatedRun.lock(harm.client() % plan.locks()));
            default -> throw new IllegalStateException(harm.fault() + " is no fault that comes at a time");
        }
    }

    RunResult run() {
        world.runFor(Duration.ofMillis(QueuePlan.CHAOS_MILLIS));
        run.calm();
        for (QueueClient client : all) {
            client.stop();
            client.wire.requests().heal();
            client.wire.replies().heal();
            client.wire.requests().resume();
            client.wire.replies().resume();
            client.wire.faults(SimulatedRun.CALM);
        }
        new QueueAftermath(run, model, clients).check();
        return run.result();
    }
}
