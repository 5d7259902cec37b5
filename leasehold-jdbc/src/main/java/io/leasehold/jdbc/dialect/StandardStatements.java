package io.leasehold.jdbc.dialect;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The statements that all database servers understand.
 *
 * @param lock the text after a query that locks its row, waiting as long as appropriate
 * @param skip the text after a query that locks its row unless another transaction has locked it
 * @param bounded the text before a statement that writes, which limits its wait for other transactions
 */
public record StandardStatements(String lock, String skip, String bounded) {

    private static final String COLUMNS =
            "name, origin, owner, holder, expires_at, ttl, token, waiter, waiting_since, freed_at, fence";

    private static final String ROW = "SELECT " + COLUMNS + " FROM leasehold_lock WHERE name = ?";

    /** Locks rows by {@code FOR UPDATE}; the dialect sets the limits elsewhere. */
    public StandardStatements() {
        this(" FOR UPDATE", " FOR UPDATE SKIP LOCKED", "");
    }

    /** The statements for rows that the text after a query locks. */
    public Dialect.Leases leases() {
        return leases(ROW + lock, ROW + skip, null);
    }

    /**
     * The statements with other queries that lock a row.
     *
     * @param find see {@link Dialect.Leases#find()}
     * @param findUnlessLocked see {@link Dialect.Leases#findUnlessLocked()}
     * @param acquire see {@link Dialect.Leases#acquire()}
     */
    public Dialect.Leases leases(String find, String findUnlessLocked, @Nullable String acquire) {
        return leases(COLUMNS, find, findUnlessLocked, acquire, null);
    }

    /** The statements for rows with these columns, the last of which may be {@code life}. */
    Dialect.Leases leases(
            String columns, String find, String findUnlessLocked, @Nullable String acquire, @Nullable String lives) {
        String select = "SELECT " + columns + " FROM leasehold_lock WHERE ";
        String places = columns.replaceAll("\\w+", "?");
        String life = lives == null ? "" : ", life = ?";
        return new Dialect.Leases(
                find,
                findUnlessLocked,
                select + "name = ?",
                bounded + "INSERT INTO leasehold_lock (" + columns + ") VALUES (" + places + ")",
                bounded + """
                    UPDATE leasehold_lock SET origin = ?, owner = ?, holder = ?, expires_at = ?, ttl = ?, token = ?,
                        waiter = ?, waiting_since = ?, freed_at = ?, fence = ?\
                    """ + life + " WHERE name = ?",
                bounded + "UPDATE leasehold_lock SET waiter = ?, waiting_since = ?, fence = ? WHERE name = ?",
                bounded + "UPDATE leasehold_lock SET expires_at = ?, ttl = ? WHERE name = ?",
                select + "owner IS NOT NULL ORDER BY name",
                select + "fence > ? AND fence < ? ORDER BY fence LIMIT " + Dialect.Leases.IDLE_ROWS,
                bounded + "DELETE FROM leasehold_lock WHERE name = ?",
                acquire,
                lives);
    }

    /** The statements for tables that this file creates. */
    Dialect.Store store(String file) {
        return store(1, SchemaFile.statements(file), "GREATEST");
    }

    /**
     * The statements for tables that these statements create.
     *
     * @param larger the function that returns the larger of two numbers
     */
    public Dialect.Store store(int version, List<String> create, String larger) {
        String floor = "SELECT fence_floor FROM leasehold_store WHERE id = 1";
        return new Dialect.Store(
                version,
                create,
                "INSERT INTO leasehold_store (id, schema_version, store_id, clock, fence_floor) VALUES (1, ?, ?, ?, 0)",
                "SELECT schema_version, store_id, clock FROM leasehold_store WHERE id = 1",
                floor,
                floor + skip,
                bounded + "UPDATE leasehold_store SET fence_floor = " + larger + "(fence_floor, ?) WHERE id = 1",
                // A union has the type and the collation of the column, even if the table is empty.
                "SELECT COUNT(*) FROM (SELECT name FROM leasehold_lock WHERE 1 = 0 UNION SELECT 'a' UNION SELECT 'A'"
                        + " UNION SELECT 'a ' UNION SELECT '\u00e1') AS names");
    }

    /**
     * The statements for a table that this statement creates.
     *
     * @param keep see {@link Dialect.Clients#keep()}
     */
    public Dialect.Clients clients(String create, String keep) {
        String taken = "SELECT taken FROM leasehold_client WHERE holder = ?";
        String isExpired = "(origin <> ? OR expires_at <= ?)";
        return new Dialect.Clients(
                create,
                "SELECT holder, origin, expires_at, told, taken FROM leasehold_client WHERE 1 = 0",
                bounded + keep,
                "SELECT told FROM leasehold_client WHERE holder = ? AND origin = ? AND expires_at > ?",
                taken,
                taken + skip,
                bounded + "UPDATE leasehold_client SET taken = ? WHERE holder = ?",
                "SELECT holder FROM leasehold_client WHERE " + isExpired + " LIMIT " + Dialect.Clients.EXPIRED_ROWS,
                bounded + "DELETE FROM leasehold_client WHERE holder = ? AND " + isExpired);
    }

    /** The statements for a table that the last of these statements creates. */
    Dialect.Clients clients(List<String> create, String keep) {
        return clients(create.get(create.size() - 1), keep);
    }
}
