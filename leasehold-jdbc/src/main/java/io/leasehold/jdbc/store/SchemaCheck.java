package io.leasehold.jdbc.store;

import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.SqlTrouble;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Finds or creates the lease table in a database, and refuses a table that this version cannot maintain correctly. */
public final class SchemaCheck {

    /** The SQL states for a table that does not exist; a damaged one may hold locks. */
    private static final Set<String> NO_TABLE = Set.of("42P01", "42S02", "42S03", "42S04");

    private final Dialect dialect;
    private final LockRuntime runtime;
    private final String clockKind;
    private final String store;
    private final boolean makes;
    private volatile boolean keepsClients;
    private volatile boolean missesClients;

    /**
     * Creates a check.
     *
     * @param clockKind the kind of clock that this process has for the table
     * @param store the store, for messages
     */
    public SchemaCheck(Dialect dialect, LockRuntime runtime, String clockKind, String store) {
        this(dialect, runtime, clockKind, store, true);
    }

    /**
     * Creates a check.
     *
     * @param makes whether to create missing tables; otherwise, a store without them is refused
     */
    public SchemaCheck(Dialect dialect, LockRuntime runtime, String clockKind, String store, boolean makes) {
        this.dialect = dialect;
        this.runtime = runtime;
        this.clockKind = clockKind;
        this.store = store;
        this.makes = makes;
    }

    /** Whether it creates missing tables. */
    public boolean makes() {
        return makes;
    }

    /**
     * Creates the tables if they are missing. Call it in a transaction that excludes other clients that do the same, or
     * repeat it on contention.
     *
     * @return the life of the store
     * @throws UnsafeStoreException if the tables have another version or use another kind of clock
     */
    public Incarnation prepare(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String create : dialect.store().create()) {
                statement.execute(create);
            }
        }
        Incarnation found = read(connection);
        return found != null ? found : describe(connection);
    }

    private Incarnation describe(Connection connection) throws SQLException {
        byte[] id = new byte[16];
        runtime.randomBytes(id);
        String storeId = HexFormat.of().formatHex(id);
        try (PreparedStatement describe =
                connection.prepareStatement(dialect.store().describe())) {
            describe.setInt(1, dialect.store().version());
            describe.setString(2, storeId);
            describe.setString(3, clockKind);
            describe.executeUpdate();
        }
        return new Incarnation(storeId);
    }

    /**
     * Finds the tables, and creates them only if they are missing: that needs an extra right.
     *
     * @return the life of the store
     * @throws UnsafeStoreException if the tables have another version or use another kind of clock
     * @throws StoreUnavailableException if they are missing and must not be created
     */
    public Incarnation findOrMake(Connection connection) throws SQLException {
        try {
            Optional<Incarnation> found =
                    BriefWait.run(connection, dialect, () -> Optional.ofNullable(read(connection)));
            if (found.isEmpty() && !makes) {
                throw missing(null);
            }
            return found.isPresent() ? found.get() : describe(connection);
        } catch (SQLException e) {
            if (dialect.troubles().apply(e) != SqlTrouble.DAMAGED) {
                throw e;
            } else if (makes) {
                return prepare(connection);
            } else if (NO_TABLE.contains(String.valueOf(e.getSQLState()))) {
                throw missing(e);
            }
            throw e;
        }
    }

    /** The refusal of a store without tables, which must not be created. */
    public StoreUnavailableException missing(@Nullable SQLException e) {
        String said = e == null ? "" : " (" + SqlTrouble.firstLine(e) + ")";
        return new StoreUnavailableException(
                "there is no store at " + store + ": no lock was ever acquired there" + said, e);
    }

    /**
     * Verifies that the database, by its collation and settings, distinguishes all names.
     *
     * @throws UnsafeStoreException if it does not
     */
    public void refuseLookAlikes(Connection connection) throws SQLException {
        if (!BriefWait.run(connection, dialect, () -> tellsNamesApart(connection))) {
            throw new UnsafeStoreException(
                    store
                            + " takes different names for one in the table leasehold_lock, as abc and ABC: two"
                            + " locks would be one. Give its column name a type or a collation that compares"
                            + " bytes, as the statements that are shipped do, or keep the tables in another"
                            + " database",
                    null);
        }
    }

    private boolean tellsNamesApart(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(dialect.store().distinct())) {
            return row.next() && row.getInt(1) == Dialect.Store.LOOK_ALIKES;
        }
    }

    /** Finds the table of clients, or creates it if that is allowed. */
    public void findOrMakeClients(Connection connection) throws SQLException {
        keepsClients = makes
                ? ClientTable.findOrMake(connection, dialect, store, missesClients)
                : ClientTable.find(connection, dialect, store, missesClients);
        missesClients = !keepsClients;
    }

    /** Whether the connection checked last has a table of clients. */
    public boolean keepsClients() {
        return keepsClients;
    }

    /** The life of the existing store, or null if its tables are empty. */
    public @Nullable Incarnation read(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(dialect.store().read())) {
            if (!row.next()) {
                return null;
            }
            int version = row.getInt(1);
            if (version != dialect.store().version()) {
                throw new UnsafeStoreException(
                        store + " has lease tables of version " + version + "; this version of Leasehold needs "
                                + dialect.store().version()
                                + ": let all its users run the same version, on a store of its own",
                        null);
            }
            String kind = row.getString(3);
            if (!clockKind.equals(kind)) {
                throw new UnsafeStoreException(
                        store + " keeps time by the " + kind + " clock, and this process can only tell the " + clockKind
                                + " clock: they would not agree when a lease ends. Name another store, or delete this"
                                + " one once no client uses it",
                        null);
            }
            return new Incarnation(row.getString(2));
        }
    }
}
