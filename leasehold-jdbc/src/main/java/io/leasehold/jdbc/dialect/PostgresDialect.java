package io.leasehold.jdbc.dialect;

import io.leasehold.Guarantee;
import java.sql.SQLException;
import java.util.Locale;
import java.util.Map;

/** PostgreSQL 12 and newer. */
public final class PostgresDialect {

    /**
     * The first statements of each transaction, which limit its effect on others: it waits for a row only briefly, and
     * if its client stops in the middle of it, the server ends it. Both limits apply only to the transaction; the
     * session does not change.
     */
    private static final String LIMITS = """
        SELECT set_config('lock_timeout', ?, true), set_config('idle_in_transaction_session_timeout', '5s', true)\
        """;

    private static final String MICROS = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)";

    /** The time is read once the inner query has locked its row, and also if there is no such row. */
    private static final String FIND = "SELECT locked.*, " + MICROS
            + " FROM (SELECT 1) one LEFT JOIN (SELECT name, origin, owner, holder, expires_at, ttl, token, waiter,"
            + " waiting_since, freed_at, fence FROM leasehold_lock WHERE name = ? FOR UPDATE%s) locked ON TRUE";

    /**
     * See {@code QuickAnswer}. The time is the start of the statement: earlier than the lock on the row, which is safe.
     * The limit on the wait for the row takes effect with the insertion of the row, and ends with the statement; a wait
     * for a locked table comes before it and has no limit, so the worker avoids this statement meanwhile. The
     * holder is read under a row lock, which this transaction already has. Otherwise the query would return the row as
     * it was before the wait, perhaps with a waiter that is no longer noted.
     */
    private static final String ACQUIRE = """
        WITH limits AS MATERIALIZED (SELECT set_config('lock_timeout', ?, true) AS rowWait),
        asked AS MATERIALIZED (
            SELECT ? AS name, ? AS owner, ? AS holder, CAST(? AS BIGINT) AS ttl, CAST(? AS BIGINT) AS least,
                CAST(? AS BIGINT) AS more, CAST(EXTRACT(EPOCH FROM statement_timestamp()) * 1000000 AS BIGINT) AS micros
            FROM limits WHERE rowWait <> ''),
        first AS (
            SELECT asked.*, GREATEST(1, micros, least, store.fence_floor + 1) AS token
            FROM asked, leasehold_store store WHERE store.id = 1),
        granted AS (
            INSERT INTO leasehold_lock AS row (name, origin, owner, holder, expires_at, ttl, token, waiter, waiting_since,
                freed_at, fence)
            SELECT name, 'database', owner, holder, micros * 1000 + ttl, ttl, token, NULL, 0, micros * 1000, token + more
            FROM first WHERE token + more < 9007199254740991
            ON CONFLICT (name) DO UPDATE SET origin = excluded.origin, owner = excluded.owner, holder = excluded.holder,
                expires_at = excluded.expires_at, ttl = excluded.ttl, waiter = NULL, waiting_since = 0,
                token = GREATEST(row.fence + 1, excluded.token),
                fence = GREATEST(row.fence + 1, excluded.token) + excluded.fence - excluded.token
            WHERE (row.owner IS NULL OR row.expires_at <= excluded.freed_at)
                AND (row.waiter IS NULL OR row.waiter = excluded.owner)
                AND row.fence + 1 + excluded.fence - excluded.token < 9007199254740991
            RETURNING row.owner, row.holder, row.expires_at, row.ttl, row.token, row.fence, row.waiter),
        seen AS MATERIALIZED (
            SELECT row.owner, row.holder, row.expires_at, row.ttl, row.token, row.fence, row.waiter
            FROM leasehold_lock row
            WHERE row.name = (SELECT name FROM asked) AND NOT EXISTS (SELECT 1 FROM granted)
            FOR NO KEY UPDATE OF row)
        SELECT granted.*, asked.micros, TRUE FROM granted, asked
        UNION ALL
        SELECT seen.*, asked.micros, FALSE FROM seen, asked\
        """;

    private static final String KEEP = """
        INSERT INTO leasehold_client (holder, origin, expires_at, told) VALUES (?, ?, ?, ?)
            ON CONFLICT (holder) DO UPDATE
            SET origin = excluded.origin, expires_at = excluded.expires_at, told = excluded.told\
        """;

    private PostgresDialect() {}

    /** The dialect. */
    public static Dialect dialect() {
        StandardStatements statements = new StandardStatements();
        Dialect.Store store = statements.store("postgresql.sql");
        return new Dialect(
                "PostgreSQL",
                "org.postgresql:postgresql",
                new Dialect.DatabaseTime("SELECT " + MICROS, true),
                new Dialect.ByDriver(LIMITS),
                statements.leases(
                        String.format(Locale.ROOT, FIND, ""),
                        String.format(Locale.ROOT, FIND, " SKIP LOCKED"),
                        ACQUIRE),
                store,
                statements.clients(store.create(), KEEP),
                new Dialect.ByNotifications("SELECT pg_notify('leasehold', ?)", new PostgresDriver()),
                null,
                new PostgresDriver(),
                new Dialect.Connecting(
                        Map.of("connectTimeout", "5", "socketTimeout", "10", "tcpKeepAlive", "true"), null),
                PostgresDialect::trouble,
                url -> Guarantee.Scope.NETWORK);
    }

    /** The meaning of an error, by SQL state, which PostgreSQL documents as its contract (appendix A of its manual). */
    private static SqlTrouble trouble(SQLException e) {
        String state = e.getSQLState() == null ? "" : e.getSQLState();
        return switch (state) {
            // Lock not available, two first rows of one name, and two clients that make the same table or its type.
            case "55P03", "23505", "42P07", "42710" -> SqlTrouble.CONTENTION;
            // pg_cancel_backend, statement_timeout.
            case "57014" -> SqlTrouble.INTERRUPTED;
            // Insufficient privilege, no such database or role, wrong password.
            case "42501", "3D000", "28000", "28P01" -> SqlTrouble.ACCESS;
            // Read-only transaction: a standby, or set so.
            case "25006" -> SqlTrouble.READ_ONLY;
            // Disk full, out of memory, too many connections.
            case "53100", "53200", "53400" -> SqlTrouble.FULL;
            case "42P01", "42703", "XX001", "XX002" -> SqlTrouble.DAMAGED;
            // Starting, stopping, connection ended by the administrator or as idle, too many connections.
            case "57P01", "57P02", "57P03", "57P05", "25P03", "53300" -> SqlTrouble.UNREACHABLE;
            default -> {
                if (state.startsWith("40")) {
                    yield SqlTrouble.CONTENTION; // serialization failure, deadlock
                }
                yield state.startsWith("08") ? SqlTrouble.UNREACHABLE : SqlTrouble.OTHER;
            }
        };
    }
}
