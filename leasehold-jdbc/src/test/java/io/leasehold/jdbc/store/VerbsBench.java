package io.leasehold.jdbc.store;

import io.leasehold.Guarantee;
import io.leasehold.Guarantees;
import io.leasehold.LockName;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.H2Dialect;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.LeaseRow.Held;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The verbs over a real table, with a clock, lives and timers that the test controls. */
final class VerbsBench implements AutoCloseable {

    static final long TTL = Duration.ofSeconds(30).toNanos();
    static final Duration RETENTION = Duration.ofHours(1);
    static final OwnerToken ANN = OwnerToken.fromHex("a".repeat(40));
    static final OwnerToken BOB = OwnerToken.fromHex("b".repeat(40));
    static final OwnerToken CAT = OwnerToken.fromHex("c".repeat(40));
    static final String ORIGIN = "this boot";

    /** The test sets its clocks; its timers stand still. */
    final LockRuntime runtime;

    private final VirtualRuntime timers = VirtualRuntime.seeded(1);
    final Map<String, Lives.State> states = new HashMap<>();
    final List<String> asked = new ArrayList<>();
    final List<LockName> woken = new ArrayList<>();
    final WakeWatch watch;
    final LeaseVerbs verbs;
    final LeaseVerbs polling;
    final LeaseTable table;
    final Connection connection;
    final StoreSettings settings;
    long nowNanos = Duration.ofDays(20_000).toNanos();
    int looks;
    int prunesAsked;
    Runnable whenTheTimeIsRead = () -> {};

    private final Lives lives = new Lives() {
        @Override
        public String own() {
            return "own life";
        }

        @Override
        public State stateOf(String life) {
            return states.getOrDefault(life, State.UNKNOWN);
        }

        /** Called by the watch, and when a row is read. */
        @Override
        public boolean isOver(String life) {
            asked.add(life);
            return stateOf(life) == State.OVER;
        }

        @Override
        public void sweep(Set<String> named) {}

        @Override
        public void close() {}
    };

    VerbsBench(Dialect dialect, String url) throws SQLException {
        connection = DriverManager.getConnection(url);
        runtime = (LockRuntime) Proxy.newProxyInstance(
                VerbsBench.class.getClassLoader(),
                new Class<?>[] {LockRuntime.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "nanoTime" -> nowNanos;
                    case "wallMillis" -> wallMillis();
                    default -> method.invoke(timers, arguments);
                });
        StoreClock clock = new MachineClock(runtime, new BootOrigin(ORIGIN, 0));
        SchemaCheck schema = new SchemaCheck(dialect, runtime, clock.kind(), "store X");
        Incarnation incarnation = schema.prepare(connection);
        table = new LeaseTable(Loan.begin(connection, dialect.tuning()), dialect, incarnation);
        KeptConnection connections = KeptConnection.own(
                new KeptConnection.Opener() {
                    @Override
                    public LeaseTable open() {
                        return table;
                    }

                    @Override
                    public boolean leadsToStore() {
                        return true;
                    }
                },
                KeptConnection.Patience.ENDLESS);
        settings = new StoreSettings(
                "store X",
                dialect,
                new Guarantees(
                        Guarantee.Exclusion.WITHIN_DRIFT,
                        Guarantee.Fencing.INCREASING,
                        Guarantee.Queueing.POLLING,
                        Guarantee.Scope.MACHINE),
                clock,
                schema,
                connections,
                () -> DriverManager.getConnection(url),
                lives,
                RETENTION);
        watch = new WakeWatch(runtime, clock, lives, () -> looks++, woken::add);
        verbs = new LeaseVerbs(settings, runtime, watch, () -> prunesAsked++);
        polling = new LeaseVerbs(settings, runtime, Waking.NONE, () -> prunesAsked++);
    }

    /** The dialect of H2 with another statement that acquires, and another way of waking. */
    static Dialect h2(@Nullable String acquire, Dialect.Waking waking) {
        Dialect h2 = H2Dialect.dialect();
        Dialect.Leases of = h2.leases();
        Dialect.Leases leases = new Dialect.Leases(
                of.find(),
                of.findUnlessLocked(),
                of.read(),
                of.insert(),
                of.update(),
                of.note(),
                of.extend(),
                of.held(),
                of.idle(),
                of.delete(),
                acquire,
                null);
        return new Dialect(
                h2.database(),
                h2.driver(),
                h2.clock(),
                h2.transaction(),
                leases,
                h2.store(),
                h2.clients(),
                waking,
                null,
                h2.tuning(),
                h2.connecting(),
                h2.troubles(),
                h2.scope());
    }

    /** This clock is read last. */
    private long wallMillis() {
        long millis = nowNanos / 1_000_000;
        whenTheTimeIsRead.run();
        return millis;
    }

    /** The wall clock. */
    long micros() {
        return nowNanos / 1_000_000 * 1000;
    }

    void goOn(Duration by) {
        nowNanos += by.toNanos();
    }

    static LockName name(String text) {
        return LockName.exactly(text);
    }

    static AcquireRequest request(OwnerToken owner, String... names) {
        List<LockName> all = new ArrayList<>();
        for (String name : names) {
            all.add(name(name));
        }
        return AcquireRequest.exclusive(all, owner, "holder", TTL, 1);
    }

    static AcquireRequest waiting(OwnerToken owner, String... names) {
        return request(owner, names).waiting(Duration.ofSeconds(3).toNanos());
    }

    static ReleaseRequest ending(OwnerToken owner, long ballot, String... names) {
        return new ReleaseRequest(request(owner, names).names(), owner, ballot, ReleaseRequest.Kind.RELEASE, 1);
    }

    static RenewBatch renewal(long timeoutNanos, OwnerToken owner, String... names) {
        List<RenewBatch.Item> items = new ArrayList<>();
        for (String name : names) {
            items.add(new RenewBatch.Item(name(name), owner, TTL));
        }
        return new RenewBatch(items, timeoutNanos);
    }

    Held held(OwnerToken owner, long leftNanos, @Nullable String life) {
        return new Held(owner, "holder", nowNanos + leftNanos, TTL, 7, life);
    }

    LeaseRow row(String name, @Nullable Held held, LeaseRow.@Nullable Waiter waiter) {
        return new LeaseRow(name(name), ORIGIN, held, waiter, nowNanos - TTL, 7);
    }

    LeaseRow read(String name) throws SQLException {
        LeaseRow row = table.read(name(name));
        if (row == null) {
            throw new AssertionError("no row of " + name);
        }
        return row;
    }

    LeaseRow.Waiter waiter(OwnerToken owner) {
        return new LeaseRow.Waiter(owner, nowNanos - TTL);
    }

    void execute(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** The locks for which the watch wakes waiters now. */
    List<LockName> wokenByALook() throws SQLException {
        woken.clear();
        watch.look(table);
        return List.copyOf(woken);
    }

    @Override
    public void close() throws SQLException {
        connection.close();
    }
}
