package io.leasehold.jdbc.dialect;

import io.leasehold.Guarantee;
import java.sql.SQLException;

/** SQLite 3.7 or later, in WAL mode, opened by the processes of one machine. */
public final class SqliteDialect {

    private static final String COLUMNS =
            "name, origin, owner, holder, expires_at, ttl, token, waiter, waiting_since, freed_at, fence, life";

    /** A writing transaction has locked the whole file. */
    private static final StandardStatements STATEMENTS = new StandardStatements("", "", "");

    private static final String KEEP = """
        INSERT INTO leasehold_client (holder, origin, expires_at, told) VALUES (?, ?, ?, ?)
            ON CONFLICT (holder) DO UPDATE
            SET origin = excluded.origin, expires_at = excluded.expires_at, told = excluded.told\
        """;

    /** The longest time that a record is kept. */
    private static final String MINUTE = "60000000000";

    private SqliteDialect() {}

    /**
     * The dialect.
     *
     * @param durable whether connections wait for the disk at every commit
     */
    public static Dialect dialect(boolean durable) {
        Dialect.Store store = STATEMENTS.store(2, SchemaFile.statements("sqlite.sql"), "MAX");
        return new Dialect(
                "SQLite",
                "org.xerial:sqlite-jdbc",
                Dialect.MachineTime.INSTANCE,
                // Acquires the write lock at once: a transaction that reads first would fail at its first write.
                new Dialect.ByStatements("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"),
                leases(),
                store,
                clients(STATEMENTS.clients(store.create(), KEEP)),
                new Dialect.ByChanges("PRAGMA data_version"),
                durable ? null : horizon(),
                Dialect.Tuning.NONE,
                Dialect.Connecting.BY_URL,
                SqliteDialect::trouble,
                url -> Guarantee.Scope.MACHINE);
    }

    /**
     * A record with another boot id counts if it may belong to this boot: containers may have boot ids of their own.
     */
    private static Dialect.Clients clients(Dialect.Clients standard) {
        return new Dialect.Clients(
                standard.create(),
                standard.find(),
                standard.keep(),
                "SELECT told FROM leasehold_client WHERE holder = ?1 AND expires_at > ?3"
                        + " AND (origin = ?2 OR expires_at <= ?3 + " + MINUTE + ")",
                standard.taken(),
                standard.lock(),
                standard.note(),
                "SELECT holder FROM leasehold_client WHERE " + isExpired("?1", "?2") + " LIMIT "
                        + Dialect.Clients.EXPIRED_ROWS,
                "DELETE FROM leasehold_client WHERE holder = ?1 AND " + isExpired("?2", "?3"));
    }

    private static String isExpired(String origin, String now) {
        return "(expires_at <= " + now + " OR (origin <> " + origin + " AND expires_at > " + now + " + " + MINUTE
                + "))";
    }

    private static Dialect.Leases leases() {
        String find = "SELECT " + COLUMNS + " FROM leasehold_lock WHERE name = ?";
        return STATEMENTS.leases(
                COLUMNS,
                find,
                find,
                null,
                "SELECT DISTINCT life FROM leasehold_lock WHERE owner IS NOT NULL AND life IS NOT NULL");
    }

    private static Dialect.Horizon horizon() {
        return new Dialect.Horizon(
                "PRAGMA synchronous=FULL",
                "PRAGMA synchronous=NORMAL",
                "SELECT token_horizon FROM leasehold_store WHERE id = 1",
                "UPDATE leasehold_store SET token_horizon = ? WHERE id = 1");
    }

    /** The meaning of an error, by SQLite's primary result codes. */
    private static SqlTrouble trouble(SQLException e) {
        return switch (e.getErrorCode()) {
            case 5, 6, 15 -> SqlTrouble.CONTENTION; // BUSY, LOCKED, PROTOCOL
            case 3, 8, 23 -> SqlTrouble.ACCESS; // PERM, READONLY, AUTH
            case 13 -> SqlTrouble.FULL; // FULL
            case 11, 26 -> SqlTrouble.DAMAGED; // CORRUPT, NOTADB
            case 7, 10, 14 -> SqlTrouble.UNREACHABLE; // NOMEM, IOERR, CANTOPEN
            default -> SqlTrouble.OTHER;
        };
    }
}
