package io.leasehold.jdbc.dialect;

import java.sql.SQLException;
import java.util.List;

/** PostgreSQL 12 and newer. */
public final class PostgresDialect {

    private static final String COLUMNS =
            "name, origin, owner, holder, expires_at, ttl, token, waiter, waiting_since, freed_at, fence";

    private PostgresDialect() {}

    /** The dialect. */
    public static Dialect dialect() {
        return new Dialect(
                "PostgreSQL",
                new Dialect.DatabaseTime("SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"),
                Dialect.ByDriver.INSTANCE,
                leases(),
                store(),
                null,
                null,
                PostgresDialect::trouble);
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
                "SELECT " + COLUMNS + " FROM leasehold_lock WHERE fence < ? ORDER BY fence LIMIT 100",
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

    /** By SQL state, which PostgreSQL documents as its contract (appendix A of its manual). */
    private static SqlTrouble trouble(SQLException e) {
        String state = e.getSQLState() == null ? "" : e.getSQLState();
        return switch (state) {
            // Lock not available, two first rows of one name, and two clients that make the same table or its type.
            case "55P03", "23505", "42P07", "42710" -> SqlTrouble.CONTENTION;
            // Insufficient privilege, read-only transaction (a standby), no such database or role, wrong password.
            case "42501", "25006", "3D000", "28000", "28P01" -> SqlTrouble.ACCESS;
            // Disk full, out of memory, too many connections.
            case "53100", "53200", "53400" -> SqlTrouble.FULL;
            case "42P01", "42703", "XX001", "XX002" -> SqlTrouble.DAMAGED;
            // Starting, stopping, connection ended by the administrator, too many connections.
            case "57P01", "57P02", "57P03", "53300" -> SqlTrouble.UNREACHABLE;
            default -> {
                if (state.startsWith("40")) {
                    yield SqlTrouble.CONTENTION; // serialization failure, deadlock
                }
                yield state.startsWith("08") ? SqlTrouble.UNREACHABLE : SqlTrouble.OTHER;
            }
        };
    }
}
