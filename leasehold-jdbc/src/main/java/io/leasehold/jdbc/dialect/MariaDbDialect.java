package io.leasehold.jdbc.dialect;

import java.sql.SQLException;

/** MariaDB 10.6 and newer, and MySQL 8.0 and newer, which differ in how a bounded wait for a row is asked for. */
public final class MariaDbDialect {

    private static final String KEEP = """
            INSERT INTO leasehold_client (holder, origin, expires_at, told) VALUES (?, ?, ?, ?)
                ON DUPLICATE KEY UPDATE
                origin = VALUES(origin), expires_at = VALUES(expires_at), told = VALUES(told)""";

    private MariaDbDialect() {}

    /** MariaDB. */
    public static Dialect mariaDb() {
        // In whole seconds. Without it a client that stops inside a transaction would keep others for 50.
        return dialect("MariaDB", "org.mariadb.jdbc:mariadb-java-client", " FOR UPDATE WAIT 1");
    }

    /** MySQL, which waits as long as {@code innodb_lock_wait_timeout} says. */
    public static Dialect mySql() {
        return dialect("MySQL", "com.mysql:mysql-connector-j", " FOR UPDATE");
    }

    private static Dialect dialect(String database, String driver, String lock) {
        Dialect.Store store = StandardStatements.store("mariadb.sql");
        return new Dialect(
                database,
                driver,
                // Not UNIX_TIMESTAMP(NOW(6)): that goes through the local time, which jumps twice a year.
                new Dialect.DatabaseTime(
                        "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))", false),
                Dialect.ByDriver.INSTANCE,
                StandardStatements.leases(lock, null),
                store,
                StandardStatements.clients(store.create(), KEEP),
                Dialect.Polling.INSTANCE,
                null,
                Dialect.Tuning.NONE,
                MariaDbDialect::trouble);
    }

    /** By error code; what has none of its own, by SQL state. */
    private static SqlTrouble trouble(SQLException e) {
        String state = e.getSQLState() == null ? "" : e.getSQLState();
        return switch (e.getErrorCode()) {
            // Two first rows of one name, lock wait timeout, deadlock, record changed since, row locked.
            case 1062, 1205, 1213, 1020, 3572 -> SqlTrouble.CONTENTION;
            // No right to the database, the table or the command; wrong password; no such database.
            case 1044, 1045, 1142, 1143, 1227, 1049 -> SqlTrouble.ACCESS;
            case 1290, 1792, 1836 -> SqlTrouble.READ_ONLY;
            // Disk full, out of memory, table full.
            case 1021, 1037, 1041, 1114 -> SqlTrouble.FULL;
            // Missing table, missing column, damaged table.
            case 1146, 1054, 1034, 1035, 126, 145 -> SqlTrouble.DAMAGED;
            // Too many connections, shutting down, connection killed, gone.
            case 1040, 1053, 1203, 1226, 1317, 1927, 2006, 2013 -> SqlTrouble.UNREACHABLE;
            default -> {
                if (state.startsWith("40")) {
                    yield SqlTrouble.CONTENTION;
                }
                yield state.startsWith("08") || state.startsWith("70") ? SqlTrouble.UNREACHABLE : SqlTrouble.OTHER;
            }
        };
    }
}
