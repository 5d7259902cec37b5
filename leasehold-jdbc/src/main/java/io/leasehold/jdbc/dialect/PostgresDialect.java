package io.leasehold.jdbc.dialect;

import java.sql.SQLException;

/** PostgreSQL 12 and newer. */
public final class PostgresDialect {

    private PostgresDialect() {}

    /** The dialect. */
    public static Dialect dialect() {
        return new Dialect(
                "PostgreSQL",
                new Dialect.DatabaseTime("SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"),
                Dialect.ByDriver.INSTANCE,
                StandardStatements.leases(),
                StandardStatements.store(),
                null,
                null,
                PostgresDialect::trouble);
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
