package io.leasehold.verify.sql;

import io.leasehold.LockName;
import io.leasehold.spi.LockStore;
import io.leasehold.testkit.virtual.ClockShape;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import io.leasehold.verify.run.FaultPlan;
import io.leasehold.verify.run.LockTasks;
import io.leasehold.verify.run.RunResult;
import io.leasehold.verify.run.SimulatedRun;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One run of a plan: the world, the database, its clients, and their faults. */
@SuppressWarnings("FutureReturnValueIgnored")
final class SqlSimulation implements LockTasks.Beliefs {

    /** The statements of a dialect are the same in all runs. */
    private static final Map<Flavour, Statements> STATEMENTS = new EnumMap<>(Flavour.class);

    static {
        for (Flavour flavour : Flavour.values()) {
            STATEMENTS.put(flavour, new Statements(flavour));
        }
    }

    final SqlPlan plan;
    final SimulatedRun<SqlFault> run;
    final SqlServer server;
    final Statements statements;
    final List<SqlClient> clients = new ArrayList<>();
    private final VirtualWorld world;
    private final List<SqlClient> all = new ArrayList<>();
    private boolean over;
    private int named;

    SqlSimulation(SqlPlan plan, @Nullable Consumer<String> trace) {
        this.plan = plan;
        this.run = new SimulatedRun<>(plan, trace);
        this.world = run.world();
        this.statements = Objects.requireNonNull(STATEMENTS.get(plan.flavour()));
        VirtualRuntime host = world.process("database");
        run.runWrong(host, SqlFault.DATABASE_CLOCK_RATE);
        this.server = new SqlServer(host, plan.flavour(), new RowAudit(plan, run), run.counts());
        for (int i = 0; i < plan.clients(); i++) {
            begin();
        }
        run.schedule(this::inflict);
    }

    boolean isOver() {
        return over;
    }

    /** Checks that a holder does not believe for longer than the database keeps its hold. */
    @Override
    public void mustKeep(String lock, long token, long untilNanos) {
        for (Row row : server.store.rows()) {
            if (row.name().equals(lock)) {
                // A hold has a range of tokens: it may be handed over within the process.
                boolean isIts = row.owner() != null && row.token() <= token && token <= row.fence();
                long leftNanos = isIts ? row.expiresAt() - server.micros() * 1000 : Long.MIN_VALUE;
                if (leftNanos <= 0 || server.host.worldNanosAfter(leftNanos) + 2_000 < untilNanos) {
                    run.problem("validity: token " + token + " of " + lock + " is believed in until " + untilNanos / 1e9
                            + ", and the database has " + row);
                }
                return;
            }
        }
        run.problem("validity: token " + token + " of " + lock + " is believed in, and the database has no such row");
    }

    private SqlClient add(String name) {
        VirtualRuntime process = world.process(name + "-" + ++named);
        run.runWrong(process, SqlFault.CLIENT_CLOCK_RATE);
        SqlClient client = new SqlClient(this, process);
        all.add(client);
        return client;
    }

    private void begin() {
        SqlClient client = add("client");
        clients.add(client);
        client.start();
    }

    private void inflict(FaultPlan.Harm<SqlFault> harm) {
        SqlClient client = clients.get(harm.client() % clients.size());
        Duration span = Duration.ofMillis(harm.millis());
        run.saw(harm.fault());
        switch (harm.fault()) {
            case CUT_REQUESTS -> during(span, client::cutRequests);
            case CUT_REPLIES -> during(span, client::cutReplies);
            case STALL -> during(span, client::stall);
            case REFUSE -> during(span, client::refuse);
            case CLIENT_FREEZE -> client.process().freeze(span);
            // A suspension of less than a tenth of a second is not detected: see SuspendWatch.
            case CLIENT_SUSPEND -> client.process().suspend(span.plusMillis(150));
            case CLIENT_CRASH -> {
                client.die(harm.millis() % 3 == 0);
                clients.remove(client);
                begin();
            }
            case CLIENT_WALL_STEP ->
                client.process()
                        .wallClock(new ClockShape.Step(span.minusSeconds(4).multipliedBy(900)));
            case DATABASE_CLOCK_STEP -> server.stepClock(harm.client() % 2 == 0 ? span : span.negated());
            case DATABASE_FREEZE -> server.host.freeze(span.dividedBy(3));
            case DATABASE_CRASH -> server.crash(span.dividedBy(2));
            case ROW_KEPT_LOCKED ->
                server.keepLocked(SimulatedRun.lock(harm.client() % plan.locks()), span.dividedBy(2));
            case HOUSEKEEPING -> add("housekeeper").keepHouse("scratch-" + harm.client() % 4);
            case FORCED_RELEASE -> {
                LockStore store = client.store();
                if (store != null) {
                    store.admin().forceRelease(LockName.exactly(SimulatedRun.lock(harm.client() % plan.locks())), null);
                }
            }
            default -> throw new IllegalStateException(harm.fault() + " is no fault that comes at a time");
        }
    }

    private void during(Duration span, Consumer<Boolean> fault) {
        fault.accept(true);
        world.after(span, () -> {
            if (!run.isCalm()) {
                fault.accept(false);
            }
        });
    }

    RunResult run() {
        try {
            world.runFor(Duration.ofMillis(plan.chaosMillis()));
            run.calm();
            all.forEach(SqlClient::heal);
            SqlAftermath.check(this);
        } finally {
            over = true;
            world.end(() -> all.forEach(SqlClient::abandon));
        }
        return run.result();
    }
}
