package io.leasehold.jdbc.store;

import io.leasehold.Finding;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.lease.StoreTime;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.StoreOperations;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** How a database is set up for a lease table: isolation, time, durability. */
final class TableOperations implements StoreOperations {

    private static final long LIMIT_NANOS = 10_000_000_000L;
    private static final long MOST_SKEW_MILLIS = 2_000;
    /** As its dialect names it. */
    private static final String POSTGRESQL = "PostgreSQL";

    private final String store;
    private final Dialect dialect;
    private final StoreClock clock;
    private final LockRuntime runtime;
    private final WorkQueue queue;

    TableOperations(String store, Dialect dialect, StoreClock clock, LockRuntime runtime, WorkQueue queue) {
        this.store = store;
        this.dialect = dialect;
        this.clock = clock;
        this.runtime = runtime;
        this.queue = queue;
    }

    @Override
    public CompletableFuture<List<Finding>> diagnose() {
        return queue.submit(
                Task.<List<Finding>>reading("a diagnosis", this::diagnose, (kind, error) -> {
                    throw error;
                }),
                LIMIT_NANOS);
    }

    private List<Finding> diagnose(LeaseTable table, StoreTime now) throws SQLException {
        List<Finding> findings = new ArrayList<>();
        Connection connection = table.connection();
        findings.add(Finding.good(
                "version",
                store + " is " + connection.getMetaData().getDatabaseProductName() + " "
                        + connection.getMetaData().getDatabaseProductVersion()));
        findings.add(isolation(store, connection.getTransactionIsolation()));
        findings.add(time(now.wallMicros() / 1_000 - runtime.wallMillis()));
        if (dialect.database().equals(POSTGRESQL)) {
            findings.add(durability(setting(connection, "fsync"), setting(connection, "synchronous_commit")));
        }
        return findings;
    }

    private static String setting(Connection connection, String name) throws SQLException {
        // Not a parameter: SHOW takes none, and both names are ours.
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SHOW " + name)) {
            return rows.next() ? rows.getString(1) : "";
        }
    }

    static Finding isolation(String store, int level) {
        return switch (level) {
            case Connection.TRANSACTION_NONE, Connection.TRANSACTION_READ_UNCOMMITTED ->
                Finding.unsafe(
                        "isolation",
                        store
                                + " reads what is not committed: a lock that was rolled back would be seen as held, or free",
                        "set the isolation of the connections to READ COMMITTED");
            case Connection.TRANSACTION_REPEATABLE_READ ->
                Finding.warning(
                        "isolation",
                        store
                                + " works with REPEATABLE READ: two who want one lock make one of them fail and try again",
                        "set the isolation of the connections to READ COMMITTED");
            default -> Finding.good("isolation", store + " shows committed rows only, and locks the row of a lock");
        };
    }

    private Finding time(long skewMillis) {
        if (clock instanceof MachineClock) {
            return clock.kind().equals("wall")
                    ? Finding.warning(
                            "clock",
                            "leases are counted by this machine's wall clock: a step of it ends them early or late",
                            "slew the clock, never step it")
                    : Finding.good(
                            "clock", "leases are counted from the start of this machine, whatever its wall clock");
        }
        return skew(store, skewMillis);
    }

    static Finding skew(String store, long skewMillis) {
        return Math.abs(skewMillis) > MOST_SKEW_MILLIS
                ? Finding.warning(
                        "clock",
                        "the clock of " + store + " is " + Math.abs(skewMillis) + " ms "
                                + (skewMillis > 0 ? "ahead of" : "behind") + " ours; leases are counted by it",
                        "run chrony or ntpd on both; slew clocks, never step them")
                : Finding.good("clock", "the clock of " + store + " agrees with ours, and leases are counted by it");
    }

    private Finding durability(String fsync, String synchronous) {
        if (fsync.equals("off")) {
            return Finding.unsafe(
                    "durability",
                    store + " may lose or tear committed rows in a crash (fsync off)",
                    "ALTER SYSTEM SET fsync = on; then SELECT pg_reload_conf()");
        } else if (synchronous.equals("off")) {
            return Finding.unsafe(
                    "durability",
                    store + " forgets the locks of the last moment in a crash (synchronous_commit off)",
                    "ALTER ROLE <user> SET synchronous_commit = on");
        }
        return Finding.good("durability", store + " keeps every acknowledged lock over a crash");
    }
}
