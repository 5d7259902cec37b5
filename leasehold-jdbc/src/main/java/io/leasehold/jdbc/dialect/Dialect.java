package io.leasehold.jdbc.dialect;

import io.leasehold.Guarantee;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The statements and settings with which one database keeps the lease table.
 *
 * <p>Parameters and columns come in the same order in every dialect, so that one piece of code reads and writes them
 * all: see {@code LeaseTable}.
 *
 * @param database its product name, for messages
 * @param driver the artefact of its JDBC driver
 * @param clock the source of the time
 * @param transaction how a writing transaction begins and ends
 * @param leases statements on the lease table
 * @param store statements on the one row that describes the store
 * @param clients statements on the table of client records
 * @param waking how waiters learn of a release
 * @param tuning the settings of a connection while it is used
 * @param connecting how the store opens its own connections
 * @param horizon how tokens are prevented from repeating after a power failure, if commits alone do not survive one
 * @param troubles the meaning of the database's errors
 * @param scope (URL) → what reaches the database, as far as the driver's URL tells
 */
public record Dialect(
        String database,
        String driver,
        Clock clock,
        Transaction transaction,
        Leases leases,
        Store store,
        Clients clients,
        Waking waking,
        @Nullable Horizon horizon,
        Tuning tuning,
        Connecting connecting,
        Function<SQLException, SqlTrouble> troubles,
        Function<String, Guarantee.Scope> scope) {

    /** Refuses nulls. */
    public Dialect {
        Objects.requireNonNull(database, "database");
        Objects.requireNonNull(driver, "driver");
        Objects.requireNonNull(clock, "clock");
        Objects.requireNonNull(transaction, "transaction");
        Objects.requireNonNull(leases, "leases");
        Objects.requireNonNull(store, "store");
        Objects.requireNonNull(clients, "clients");
        Objects.requireNonNull(waking, "waking");
        Objects.requireNonNull(tuning, "tuning");
        Objects.requireNonNull(connecting, "connecting");
        Objects.requireNonNull(troubles, "troubles");
        Objects.requireNonNull(scope, "scope");
    }

    /** Whether this dialect fits a database with this product name. */
    public boolean fits(String product) {
        // MariaDB understands all statements of MySQL's dialect, but not the other way round.
        return product.equalsIgnoreCase(database) || (database.equals("MySQL") && product.equalsIgnoreCase("MariaDB"));
    }

    /** Whether a transaction can wait for a row for less than a second. */
    public boolean waitsBriefly() {
        return !(transaction instanceof ByDriver driver) || driver.limits() != null;
    }

    /** The source of the time. */
    public sealed interface Clock {}

    /** The machine: all users of the database are processes of one machine. */
    public enum MachineTime implements Clock {
        /** The only value. */
        INSTANCE
    }

    /**
     * The database.
     *
     * @param micros a query for microseconds since 1970: not before this query began, if it is the first of its
     *     transaction
     * @param comesWithRows whether {@link Leases#find} and {@link Leases#findUnlessLocked} return the time at which the
     *     row was locked in a column after those of the row, even if there is no such row
     */
    public record DatabaseTime(String micros, boolean comesWithRows) implements Clock {}

    /** The way in which a writing transaction begins and ends. */
    public sealed interface Transaction {}

    /**
     * By statements.
     *
     * @param begin acquires the write lock
     */
    public record ByStatements(String begin, String commit, String rollback) implements Transaction {}

    /**
     * By {@code Connection.setAutoCommit(false)}, {@code commit()} and {@code rollback()}.
     *
     * @param limits (wait): the first statement of the transaction, which limits its wait for a row, as in {@code
     *     250ms}. Null if the database supports no limit below a second: then a transaction never waits for a row, and
     *     is retried later
     */
    public record ByDriver(@Nullable String limits) implements Transaction {}

    /** The way in which waiters learn of a release. */
    public sealed interface Waking {}

    /** Waiters poll. */
    public enum Polling implements Waking {
        /** The only value. */
        INSTANCE
    }

    /**
     * Waiters poll for changes of the database.
     *
     * @param query a number that changes when another connection has written, cheap enough to be queried every few
     *     milliseconds
     */
    public record ByChanges(String query) implements Waking {}

    /**
     * The database notifies waiters.
     *
     * @param tell (payload): notifies all listeners when the transaction commits
     * @param driver how to listen
     */
    public record ByNotifications(String tell, Driver driver) implements Waking {}

    /** A driver's way to listen. All methods may block, on the connection. */
    public interface Driver {
        /** Whether listening is possible over this connection. */
        boolean canListen(Connection connection) throws SQLException;

        /** Begins to listen. */
        void listen(Connection connection) throws SQLException;

        /** Waits for notifications, and returns those since the last call; possibly none. */
        List<String> next(Connection connection, int millis) throws SQLException;

        /** Requests an answer of the database, which a silently dead connection does not give. */
        void ask(Connection connection) throws SQLException;

        /** Ends listening. */
        void unlisten(Connection connection) throws SQLException;
    }

    /** Settings of a connection while it is used. */
    public interface Tuning {
        /** Changes nothing. */
        Tuning NONE = new Tuning() {
            @Override
            public int begin(Connection connection) {
                return 0;
            }

            @Override
            public void end(Connection connection, int before) {}
        };

        /** Changes the connection, and returns its previous settings. */
        int begin(Connection connection) throws SQLException;

        /** Restores the connection. */
        void end(Connection connection, int before) throws SQLException;
    }

    /**
     * How the store opens its own connections to a URL. A connection may die silently (dropped by a firewall, or to a
     * vanished host), and by default a driver or a server waits for the other side forever.
     *
     * @param defaults properties for the driver, where the URL does not name them
     * @param begin the first statement of a session, by which the server ends the transaction of a client that vanished
     *     in the middle of it; null if transactions set this themselves, or the database cannot
     */
    public record Connecting(
            Map<String, String> defaults, @Nullable String begin) {
        /** Adds nothing to the URL. */
        public static final Connecting BY_URL = new Connecting(Map.of(), null);

        /** Copies the properties. */
        public Connecting {
            defaults = Map.copyOf(defaults);
        }
    }

    /**
     * Statements on the lease table. None waits for another transaction longer than a moment.
     *
     * @param find (name) → the row, locked until the end of the transaction if necessary; waits as long as the
     *     transaction may
     * @param findUnlessLocked (name) → the same, or no row if another transaction has locked it; never waits
     * @param read (name) → the row, without a lock
     * @param insert (name, origin, owner, holder, expires_at, ttl, token, waiter, waiting_since, freed_at, fence)
     * @param update (origin, owner, holder, expires_at, ttl, token, waiter, waiting_since, freed_at, fence, name)
     * @param note (waiter, waiting_since, fence, name)
     * @param extend (expires_at, ttl, name)
     * @param held () → the rows with an owner, in the order of names
     * @param idle (least, most) → rows whose fence is between these, lowest first, at most {@value #IDLE_ROWS}; without
     *     a lock
     * @param delete (name)
     * @param acquire (wait, name, owner, holder, ttl, least, more), with the wait as in {@link ByDriver}: one statement
     *     that grants a lock without holder and waiter, and otherwise returns its holder (see {@code QuickAnswer});
     *     null if the dialect has none
     * @param lives a query for the lives of all holders, if rows have the column {@code life}, which then comes last in
     *     the rows, the insert and (before the name) the update; null if they have not
     */
    public record Leases(
            String find,
            String findUnlessLocked,
            String read,
            String insert,
            String update,
            String note,
            String extend,
            String held,
            String idle,
            String delete,
            @Nullable String acquire,
            @Nullable String lives) {

        /** The maximum number of rows that are checked for deletion at a time. */
        public static final int IDLE_ROWS = 20;
    }

    /**
     * Statements on the one row that describes the store.
     *
     * @param version the version of the tables
     * @param create creates both tables and their indexes unless they exist, and the table of the store after the locks: a
     *     client that finds it creates nothing, and another one may be about to create the rest, or has died meanwhile
     * @param describe (schema_version, store_id, clock) → inserts the row
     * @param read () → schema_version, store_id, clock; fails or is empty if there is no store
     * @param floor () → fence_floor, the largest fence of any row that was deleted
     * @param lockFloor () → the same, locked, or no row if another transaction has locked it; never waits
     * @param raiseFloor (fence_floor): never lowers it
     * @param distinct () → how many of {@value #LOOK_ALIKES} similar names are different locks, by the rules of the
     *     column {@code leasehold_lock.name}
     */
    public record Store(
            int version,
            List<String> create,
            String describe,
            String read,
            String floor,
            String lockFloor,
            String raiseFloor,
            String distinct) {

        /** Names that differ in case, an accent and a blank at the end. */
        public static final int LOOK_ALIKES = 4;

        /** Copies the statements. */
        public Store {
            create = List.copyOf(create);
        }
    }

    /**
     * Statements on the table of client records for operators. No lock depends on it: if it is missing and cannot be
     * created, clients keep no records.
     *
     * @param create creates the table unless it exists; also among {@link Store#create}
     * @param find fails if the table is missing or must not be read
     * @param keep (holder, origin, expires_at, told) → replaces the last record of this holder
     * @param read (holder, origin, now) → the record, unless it has expired
     * @param taken (holder) → the names of this holder's locks that were released by force and not reported to it yet,
     *     or null
     * @param lock (holder) → the same, locked, or no row if another transaction has locked it; never waits
     * @param note (taken, holder)
     * @param expired (origin, now) → the holders of expired records, at most {@value #EXPIRED_ROWS}
     * @param delete (holder, origin, now): deletes expired records
     */
    public record Clients(
            String create,
            String find,
            String keep,
            String read,
            String taken,
            String lock,
            String note,
            String expired,
            String delete) {

        /** The maximum number of rows that are deleted at a time. */
        public static final int EXPIRED_ROWS = 20;
    }

    /**
     * A bound that is on the disk before any token reaches it. A loss of power may also lose the last commits;
     * afterwards tokens continue above the bound.
     *
     * @param durably makes the next commits wait for the disk
     * @param asUsual restores the normal commits
     * @param read () → the bound
     * @param raise (bound)
     */
    public record Horizon(String durably, String asUsual, String read, String raise) {}
}
