package io.leasehold.jdbc.store;

import io.leasehold.LockName;
import io.leasehold.StoreAccessException;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.Finding;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.lease.StoreTime;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.StoreOperations;
import io.leasehold.spi.toolkit.Failure;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Administrative operations on a lease table: records of clients, a note to a client whose lock was taken, and the set-up of the
 * database.
 */
final class TableOperations implements StoreOperations {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.jdbc");

    /**
     * Begins the notification for a holder whose lock was taken. The other notifications are names of locks, which have
     * no tabs.
     */
    static final String TAKEN = "\t";

    private static final long LIMIT_NANOS = 10_000_000_000L;
    private static final long MAX_SKEW_MILLIS = 2_000;

    /** A client deletes expired records once in this many records of its own: about once a minute. */
    private static final int RECORDS_BETWEEN_SWEEPS = 12;

    /** The name in its dialect. */
    private static final String POSTGRESQL = "PostgreSQL";

    private final String store;
    private final Dialect dialect;
    private final StoreClock clock;
    private final SchemaCheck schema;
    private final ClientTable clients;
    private final Lives lives;
    private final LockRuntime runtime;
    private final WorkQueue queue;
    private final Consumer<LockName> takenAway;
    private final AtomicInteger recordsKept = new AtomicInteger();
    private final AtomicBoolean complained = new AtomicBoolean();
    private volatile String holderId = "";

    /**
     * Creates the operations of a store.
     *
     * @param takenAway is called if a notification says that a lock was taken from this client
     */
    TableOperations(StoreSettings settings, LockRuntime runtime, WorkQueue queue, Consumer<LockName> takenAway) {
        this.store = settings.description();
        this.dialect = settings.dialect();
        this.clock = settings.clock();
        this.schema = settings.schema();
        this.clients = new ClientTable(dialect);
        this.lives = settings.lives();
        this.runtime = runtime;
        this.queue = queue;
        this.takenAway = takenAway;
    }

    @Override
    public boolean keepsClientRecords() {
        return schema.keepsClients();
    }

    /**
     * Notes the holder id of this client, as each of its requests names it: it may write no record of itself, and its first
     * record comes after its first hold.
     */
    void requestedBy(String holder) {
        holderId = holder;
    }

    @Override
    public CompletableFuture<Void> announce(ClientRecord record, long keepNanos) {
        requestedBy(record.holderId());
        if (!keepsClientRecords()) {
            // A statement on a table that is missing would fail, and cost the kept connection.
            return CompletableFuture.completedFuture(null);
        }
        if (recordsKept.getAndIncrement() % RECORDS_BETWEEN_SWEEPS == 0) {
            keepHouse("deletion of old records", (table, tries) -> {
                clients.sweep(table, clock.read(table));
                return true;
            });
        }
        // If the record is locked, the next one will do, a few seconds later.
        return keepHouse(
                        "the record of a client",
                        (table, tries) -> clients.keep(table, record, keepNanos, clock.read(table)))
                .thenAccept(taken -> taken.forEach(this::tellTakenAway))
                .whenComplete((told, error) -> complainOfRights(error));
    }

    /** Logs a missing right; other errors pass, or the locks report them. */
    private void complainOfRights(@Nullable Throwable error) {
        Throwable cause = error == null ? null : Failure.unwrapped(error);
        if (cause instanceof StoreAccessException && !complained.getAndSet(true)) {
            LOG.warn(
                    "{}: this client cannot tell operators of itself, and `leasehold leaks` takes it for gone: it needs SELECT,"
                            + " INSERT, UPDATE and DELETE on leasehold_client ({})",
                    store,
                    cause.getMessage());
        }
    }

    @Override
    public CompletableFuture<Optional<ClientRecord>> client(String ofHolder) {
        return keepsClientRecords()
                ? read("a look at a client", (table, tries) -> clients.read(table, ofHolder, clock.read(table)))
                : CompletableFuture.completedFuture(Optional.empty());
    }

    @Override
    public Optional<Path> coverChildren() {
        return lives.coverChildren();
    }

    /**
     * Notifies the holder that this lock was taken from it, and leaves a note that the holder reads when it writes its
     * record.
     */
    CompletableFuture<Boolean> tellTaken(LockName name, String ofHolder) {
        String word = PermitTable.word(name);
        CompletableFuture<Boolean> told = write("a word to a holder", (table, tries) -> {
            table.tell(TAKEN + ofHolder + TAKEN + word);
            return true;
        });
        if (!keepsClientRecords()) {
            return told;
        }
        // A transaction of its own: the operator may lack the rights on that table, and the word must arrive
        // nevertheless.
        CompletableFuture<Boolean> noted = write("a note for a holder", (table, tries) -> {
            clients.noteTaken(table, ofHolder, word);
            return true;
        });
        return noted.handle((done, error) -> {
                    if (error != null) {
                        LOG.warn(
                                "{}: no note for the holder {} could be left, from which \"{}\" was taken ({})",
                                store,
                                ofHolder,
                                name,
                                Failure.unwrapped(error).getMessage());
                    }
                    return told;
                })
                .thenCompose(result -> result);
    }

    /** Processes a notification that begins with {@link #TAKEN}. */
    void takenWord(String word) {
        String[] parts = word.split(TAKEN, 3);
        if (parts.length == 3 && parts[1].equals(holderId)) {
            tellTakenAway(parts[2]);
        }
    }

    private void tellTakenAway(String name) {
        try {
            takenAway.accept(PermitTable.named(name));
        } catch (IllegalArgumentException e) {
            LOG.debug("a word about a lock of no valid name was not left by this library", e);
        }
    }

    private <R> CompletableFuture<R> read(String what, Task.Work<R> work) {
        return queue.submit(Task.reading(what, work), LIMIT_NANOS);
    }

    private <R> CompletableFuture<R> write(String what, Task.Work<R> work) {
        return queue.submit(Task.writing(what, work), LIMIT_NANOS);
    }

    private <R> CompletableFuture<R> keepHouse(String what, Task.Work<R> work) {
        return queue.submit(Task.keepingHouse(what, work), LIMIT_NANOS);
    }

    @Override
    public CompletableFuture<List<Finding>> diagnose() {
        return read("a diagnosis", (table, tries) -> diagnose(table, clock.read(table)));
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
            findings.add(durability(store, setting(connection, "fsync"), setting(connection, "synchronous_commit")));
        }
        findings.add(clients());
        return findings;
    }

    private Finding clients() {
        return keepsClientRecords()
                ? Finding.good("clients", "clients that hold for more than a second report to " + store)
                : Finding.warning(
                        "clients",
                        store
                                + " has no table leasehold_client that this user may use: who, show and leaks know the ids of"
                                + " holders, and nothing else about them. Clients that run before there is one must be restarted"
                                + " then, or leaks takes them for gone",
                        dialect.clients().create().replaceAll("\\s+", " ")
                                + "; GRANT SELECT, INSERT, UPDATE, DELETE ON leasehold_client TO <user>");
    }

    private static String setting(Connection connection, String name) throws SQLException {
        // Not a parameter: SHOW accepts none, and both names are constants of this class.
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
                                + " works with REPEATABLE READ: if two clients want one lock, one of them fails and retries",
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
        return Math.abs(skewMillis) > MAX_SKEW_MILLIS
                ? Finding.warning(
                        "clock",
                        "the clock of " + store + " is " + Math.abs(skewMillis) + " ms "
                                + (skewMillis > 0 ? "ahead of" : "behind") + " ours; leases are counted by it",
                        "run chrony or ntpd on both; slew clocks, never step them")
                : Finding.good("clock", "the clock of " + store + " agrees with ours, and leases are counted by it");
    }

    static Finding durability(String store, String fsync, String synchronous) {
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
