package io.leasehold.sample;

import io.leasehold.Guarantee;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.DialectProvider;
import io.leasehold.jdbc.dialect.SqlTrouble;
import io.leasehold.jdbc.dialect.StandardStatements;
import java.sql.SQLException;
import java.util.List;
import java.util.Set;

/** A dialect as another project would write it, with public types only; its database is an H2 under another name. */
public final class SampleDialect implements DialectProvider {

    private static final List<String> TABLES = List.of(
            """
            CREATE TABLE IF NOT EXISTS leasehold_lock (
                name VARCHAR_CASESENSITIVE(1024) PRIMARY KEY, origin VARCHAR(128) NOT NULL, owner VARCHAR(40),
                holder VARCHAR(512), expires_at BIGINT NOT NULL, ttl BIGINT NOT NULL, token BIGINT NOT NULL,
                waiter VARCHAR(40), waiting_since BIGINT NOT NULL, freed_at BIGINT NOT NULL, fence BIGINT NOT NULL)\
            """,
            "CREATE" + " INDEX" + " IF NOT" + " EXISTS" + " leasehold_lock_fence" + " ON leasehold_lock" + " (fence)",
            """
            CREATE TABLE IF NOT EXISTS leasehold_store (
                id INTEGER PRIMARY KEY, schema_version INTEGER NOT NULL, store_id VARCHAR(64) NOT NULL,
                clock VARCHAR(16) NOT NULL, fence_floor BIGINT NOT NULL)\
            """,
            """
            CREATE TABLE IF NOT EXISTS leasehold_client (
                holder VARCHAR(512) PRIMARY KEY, origin VARCHAR(128) NOT NULL, expires_at BIGINT NOT NULL,
                told CHARACTER LARGE OBJECT NOT NULL, taken CHARACTER LARGE OBJECT)\
            """);

    @Override
    public Set<String> subprotocols() {
        return Set.of("sample");
    }

    @Override
    public Dialect dialect() {
        StandardStatements statements = new StandardStatements();
        return new Dialect(
                "H2",
                "com.h2database:h2",
                new Dialect.DatabaseTime(
                        "SELECT CAST(EXTRACT(EPOCH FROM CURRENT_TIMESTAMP(6)) * 1000000 AS BIGINT)", false),
                new Dialect.ByDriver(null),
                statements.leases(),
                statements.store(1, TABLES, "GREATEST"),
                statements.clients(
                        TABLES.get(3),
                        "MERGE INTO leasehold_client (holder, origin, expires_at, told) KEY (holder) VALUES (?, ?, ?,"
                                + " ?)"),
                Dialect.Polling.INSTANCE,
                null,
                Dialect.Tuning.NONE,
                Dialect.Connecting.BY_URL,
                SampleDialect::trouble,
                url -> Guarantee.Scope.PROCESS);
    }

    private static SqlTrouble trouble(SQLException e) {
        return switch (e.getErrorCode()) {
            case 50200, 40001, 90131, 23505, 42101, 42111 -> SqlTrouble.CONTENTION;
            // H2's internal error if two clients create one index.
            case 50000 ->
                String.valueOf(e.getMessage()).contains("object already exists")
                        ? SqlTrouble.CONTENTION
                        : SqlTrouble.OTHER;
            case 42102, 42103, 42104 -> SqlTrouble.DAMAGED;
            case 90007, 90067, 90098, 90121 -> SqlTrouble.UNREACHABLE;
            default -> SqlTrouble.OTHER;
        };
    }
}
