package io.leasehold.jdbc.dialect;

import java.sql.SQLException;
import java.util.List;

/** H2 2.x, in memory, as a file or as a server. */
public final class H2Dialect {

    private static final String COLUMNS =
            "name, origin, owner, holder, expires_at, ttl, token, waiter, waiting_since, freed_at, fence";

    private H2Dialect() {}

    /** The dialect. */
    public static Dialect dialect() {
        return new Dialect(
                "H2",
                new Dialect.DatabaseTime("SELECT CAST(EXTRACT(EPOCH FROM CURRENT_TIMESTAMP(6)) * 1000000 AS BIGINT)"),
                Dialect.ByDriver.INSTANCE,
                leases(),
                store(),
                null,
                null,
                H2Dialect::trouble);
    }

    private static Dialect.Leases leases() {
        String read = "SELECT " + COLUMNS + " FROM leasehold_lock WHERE name = ?";
        return new Dialect.Leases(
                read + " FOR UPDATE",
                read,
                "INSERT INTO leasehold_lock (" + COLUMNS + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                """
                UPDATE leasehold_lock SET origin = ?, owner = ?, holder = ?, expires_at = ?, ttl = ?, token = ?,
                    waiter = ?, waiting_since = ?, freed_at = ?, fence = ? WHERE name = ?""",
                "SELECT " + COLUMNS + " FROM leasehold_lock WHERE owner IS NOT NULL ORDER BY name",
                "SELECT " + COLUMNS + " FROM leasehold_lock WHERE fence < ? ORDER BY fence FETCH FIRST 100 ROWS ONLY",
                "DELETE FROM leasehold_lock WHERE name = ?");
    }

    private static Dialect.Store store() {
        return new Dialect.Store(
                List.of("""
                        CREATE TABLE IF NOT EXISTS leasehold_store (
                            id INTEGER PRIMARY KEY CHECK (id = 1),
                            schema_version INTEGER NOT NULL,
                            store_id VARCHAR(64) NOT NULL,
                            clock VARCHAR(16) NOT NULL,
                            fence_floor BIGINT NOT NULL)""", """
                        CREATE TABLE IF NOT EXISTS leasehold_lock (
                            name VARCHAR(1024) PRIMARY KEY,
                            origin VARCHAR(128) NOT NULL,
                            owner VARCHAR(40),
                            holder VARCHAR(512),
                            expires_at BIGINT NOT NULL,
                            ttl BIGINT NOT NULL,
                            token BIGINT NOT NULL,
                            waiter VARCHAR(40),
                            waiting_since BIGINT NOT NULL,
                            freed_at BIGINT NOT NULL,
                            fence BIGINT NOT NULL)""", "CREATE INDEX IF NOT EXISTS leasehold_lock_fence ON leasehold_lock (fence)"),
                "INSERT INTO leasehold_store (id, schema_version, store_id, clock, fence_floor) VALUES (1, ?, ?, ?, 0)",
                "SELECT schema_version, store_id, clock FROM leasehold_store WHERE id = 1",
                "SELECT fence_floor FROM leasehold_store WHERE id = 1",
                "UPDATE leasehold_store SET fence_floor = ? WHERE id = 1");
    }

    /** By SQL state and H2's error codes. */
    private static SqlTrouble trouble(SQLException e) {
        String state = e.getSQLState() == null ? "" : e.getSQLState();
        return switch (e.getErrorCode()) {
            // Lock timeout, deadlock, concurrent update, and two first rows of one name at the same time.
            case 50200, 40001, 90131, 23505 -> SqlTrouble.CONTENTION;
            // Wrong user or password, not enough rights, read-only database.
            case 28000, 90096, 90097 -> SqlTrouble.ACCESS;
            case 90100 -> SqlTrouble.FULL;
            // Broken file, missing table.
            case 90030, 42102, 42104 -> SqlTrouble.DAMAGED;
            // Closed or broken connection, database closed, in use by another process, not found.
            case 90007, 90067, 90098, 90121, 90020, 90013, 90146, 90149 -> SqlTrouble.UNREACHABLE;
            default -> state.startsWith("08") ? SqlTrouble.UNREACHABLE : SqlTrouble.OTHER;
        };
    }
}
