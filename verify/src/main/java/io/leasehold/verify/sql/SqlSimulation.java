package io.leasehold.verify.sql;

import io.leasehold.LockName;
import io.leasehold.simulator.history.History;
import io.leasehold.simulator.history.HistoryEvent;
import io.leasehold.simulator.history.LostUpdateChecker;
import io.leasehold.simulator.history.OverlapChecker;
import io.leasehold.simulator.history.TokenChecker;
import io.leasehold.spi.LockStore;
import io.leasehold.testkit.virtual.ClockShape;
import io.leasehold.testkit.virtual.LinkFaults;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One run of a plan: the world, the database, its clients, and what is done to them. */
@SuppressWarnings("FutureReturnValueIgnored")
final class SqlSimulation {

    static final LinkFaults CALM = LinkFaults.none().delay(Duration.ofNanos(50_000), Duration.ofNanos(500_000));

    /** What a dialect says is the same in all runs. */
    private static final Map<Flavour, Statements> STATEMENTS = new EnumMap<>(Flavour.class);

    static {
        for (Flavour flavour : Flavour.values()) {
            STATEMENTS.put(flavour, new Statements(flavour));
        }
    }

    final SqlPlan plan;
    final VirtualWorld world;
    final SqlServer server;
    final Statements statements;
    final SqlCounts counts = new SqlCounts();
    final List<HistoryEvent> history = new ArrayList<>(512);
    final List<String> problems = new ArrayList<>();
    final List<SqlClient> clients = new ArrayList<>();
    final SqlResource resource;
    private final List<SqlClient> all = new ArrayList<>();
    private boolean calm;
    private boolean over;
    private int named;

    /**
     * What came of a run.
     *
     * @param problems what must not have happened, in words that begin with its kind
     */
    record Result(
            SqlPlan plan, List<String> problems, SqlCounts counts, History history, long eventsRun, long traceHash) {
        String kind() {
            return problems.isEmpty() ? "" : problems.get(0).replaceAll(":.*", "");
        }
    }

    SqlSimulation(SqlPlan plan, @Nullable Consumer<String> trace) {
        this.plan = plan;
        this.world = VirtualWorld.seeded(plan.seed());
        if (trace != null) {
            world.onTrace(trace);
        }
        this.statements = Objects.requireNonNull(STATEMENTS.get(plan.flavour()));
        this.resource = new SqlResource(world, history);
        VirtualRuntime host = world.process("database");
        runWrong(host, SqlFault.DATABASE_CLOCK_RATE);
        this.server = new SqlServer(host, plan.flavour(), new RowAudit(this), counts);
        for (int i = 0; i < plan.clients(); i++) {
            begin();
        }
        for (SqlPlan.Harm harm : plan.harms()) {
            world.after(Duration.ofMillis(harm.atMillis()), () -> {
                if (!calm) {
                    inflict(harm);
                }
            });
        }
    }

    static String lock(long number) {
        return "lock-" + number;
    }

    void problem(String what) {
        problems.add(what + ", at " + world.elapsed());
        world.note("PROBLEM " + what);
    }

    void saw(SqlFault fault) {
        counts.saw(fault);
        world.note(fault.name());
    }

    boolean isOver() {
        return over;
    }

    /** A holder does not believe for longer than the database keeps its hold. */
    void mustKeep(String lock, long token, long untilNanos) {
        if (!plan.promisesExclusion() || untilNanos <= world.elapsedNanos()) {
            return;
        }
        for (Row row : server.store.rows()) {
            if (row.name().equals(lock)) {
                // A hold has a range of tokens: it may be passed on within the process.
                boolean isIts = row.owner() != null && row.token() <= token && token <= row.fence();
                long leftNanos = isIts ? row.expiresAt() - server.micros() * 1000 : Long.MIN_VALUE;
                if (leftNanos <= 0 || server.host.worldNanosAfter(leftNanos) + 2_000 < untilNanos) {
                    problem("validity: token " + token + " of " + lock + " is believed in until " + untilNanos / 1e9
                            + ", and the database has " + row);
                }
                return;
            }
        }
        problem("validity: token " + token + " of " + lock + " is believed in, and the database has no such row");
    }

    private void runWrong(VirtualRuntime process, SqlFault fault) {
        long most = plan.driftPartsPerMillion();
        if (most > 0) {
            process.monotonicClock(new ClockShape.Linear(1.0 + (world.randomBelow(2 * most + 1) - most) / 1e6));
            saw(fault);
        }
    }

    private SqlClient add(String name) {
        VirtualRuntime process = world.process(name + "-" + ++named);
        runWrong(process, SqlFault.CLIENT_CLOCK_RATE);
        SqlClient client = new SqlClient(this, process);
        all.add(client);
        return client;
    }

    private void begin() {
        SqlClient client = add("client");
        clients.add(client);
        client.start(plan.tasks());
    }

    LinkFaults drawnFaults() {
        int bad = calm ? 0 : plan.network();
        return bad == 0
                ? CALM
                : LinkFaults.none()
                        .delay(
                                Duration.ofNanos(20_000),
                                Duration.ofNanos(50_000 + world.randomBelow(1_500_000L * bad)));
    }

    boolean drawsReset(SqlFault fault) {
        if (calm || !world.chance(plan.network() / 3_000.0)) {
            return false;
        }
        saw(fault);
        return true;
    }

    /** Draws a pause at a suspension point: short ones often, some of them longer than a ttl. */
    long pauseNanos(SqlFault point) {
        if (calm || plan.pauses() == 0 || world.randomBelow(10_000) >= plan.pauses()) {
            return 0;
        }
        saw(point);
        return 1 + world.randomBelow(world.chance(0.6) ? 60_000_000L : 4_000_000_000L);
    }

    private void inflict(SqlPlan.Harm harm) {
        SqlClient client = clients.get(harm.client() % clients.size());
        Duration span = Duration.ofMillis(harm.millis());
        saw(harm.fault());
        switch (harm.fault()) {
            case CUT_REQUESTS -> during(span, client::cutRequests);
            case CUT_REPLIES -> during(span, client::cutReplies);
            case STALL -> during(span, client::stall);
            case REFUSE -> during(span, client::refuse);
            case CLIENT_FREEZE -> client.process.freeze(span);
            // A suspension of less than a tenth of a second is not noticed: see SuspendWatch.
            case CLIENT_SUSPEND -> client.process.suspend(span.plusMillis(150));
            case CLIENT_CRASH -> {
                client.die(harm.millis() % 3 == 0);
                clients.remove(client);
                begin();
            }
            case CLIENT_WALL_STEP ->
                client.process.wallClock(
                        new ClockShape.Step(span.minusSeconds(4).multipliedBy(900)));
            case DATABASE_CLOCK_STEP -> server.stepClock(harm.client() % 2 == 0 ? span : span.negated());
            case DATABASE_FREEZE -> server.host.freeze(span.dividedBy(3));
            case DATABASE_CRASH -> server.crash(span.dividedBy(2));
            case ROW_KEPT_LOCKED -> server.keepLocked(lock(harm.client() % plan.locks()), span.dividedBy(2));
            case HOUSEKEEPING -> add("housekeeper").keepHouse("scratch-" + harm.client() % 4);
            case FORCED_RELEASE -> {
                LockStore store = client.store();
                if (store != null) {
                    store.forceRelease(LockName.exactly(lock(harm.client() % plan.locks())), null);
                }
            }
            default -> throw new IllegalStateException(harm.fault() + " is no fault that comes at a time");
        }
    }

    private void during(Duration span, Consumer<Boolean> fault) {
        fault.accept(true);
        world.after(span, () -> {
            if (!calm) {
                fault.accept(false);
            }
        });
    }

    Result run() {
        try {
            world.runFor(Duration.ofMillis(plan.chaosMillis()));
            calm = true;
            all.forEach(SqlClient::heal);
            SqlAftermath.check(this);
        } finally {
            over = true;
            world.end(() -> all.forEach(SqlClient::abandon));
        }
        History whole = History.of(history);
        judge(whole);
        return new Result(plan, problems, counts, whole, world.eventsRun(), world.traceHash());
    }

    private void judge(History whole) {
        if (plan.promisesExclusion()) {
            OverlapChecker.check(whole).forEach(v -> problems.add("overlap: " + v));
            TokenChecker.check(whole).forEach(v -> problems.add("token: " + v));
        }
        for (LostUpdateChecker.Result result : LostUpdateChecker.check(whole)) {
            boolean checking = result.resource().startsWith("checking/");
            String kind = checking ? "checking" : "naive";
            counts.saw("updates " + kind, result.acknowledged());
            counts.saw("lost updates " + kind, result.lost());
            if (checking && result.lost() > 0) {
                problems.add("lost update: " + result);
            }
        }
        counts.saw("acquisitions", whole.acquisitions());
        counts.saw("steps", world.eventsRun());
    }
}
