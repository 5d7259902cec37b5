package io.leasehold.jdbc.dialect;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** The statements that database servers understand alike. */
final class StandardStatements {

    private static final String COLUMNS =
            "name, origin, owner, holder, expires_at, ttl, token, waiter, waiting_since, freed_at, fence";

    private StandardStatements() {}

    /** With rows locked by {@code FOR UPDATE}. */
    static Dialect.Leases leases() {
        return leases(" FOR UPDATE", null);
    }

    /**
     * With other ways to lock a row.
     *
     * @param lock comes after the query for a row
     * @param acquire see {@link Dialect.Leases#acquire()}
     */
    static Dialect.Leases leases(String lock, @Nullable String acquire) {
        String read = "SELECT " + COLUMNS + " FROM leasehold_lock WHERE name = ?";
        return new Dialect.Leases(
                read + lock,
                read,
                "INSERT INTO leasehold_lock (" + COLUMNS + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                """
                UPDATE leasehold_lock SET origin = ?, owner = ?, holder = ?, expires_at = ?, ttl = ?, token = ?,
                    waiter = ?, waiting_since = ?, freed_at = ?, fence = ? WHERE name = ?""",
                "SELECT " + COLUMNS + " FROM leasehold_lock WHERE owner IS NOT NULL ORDER BY name",
                "SELECT " + COLUMNS + " FROM leasehold_lock WHERE fence < ? ORDER BY fence LIMIT 100",
                "DELETE FROM leasehold_lock WHERE name = ?",
                acquire,
                null);
    }

    /** With tables made by the statements of this file. */
    static Dialect.Store store(String file) {
        return new Dialect.Store(
                1,
                SchemaFile.statements(file),
                "INSERT INTO leasehold_store (id, schema_version, store_id, clock, fence_floor) VALUES (1, ?, ?, ?, 0)",
                "SELECT schema_version, store_id, clock FROM leasehold_store WHERE id = 1",
                "SELECT fence_floor FROM leasehold_store WHERE id = 1",
                "UPDATE leasehold_store SET fence_floor = GREATEST(fence_floor, ?) WHERE id = 1");
    }

    /**
     * With a table made by this statement.
     *
     * @param keep see {@link Dialect.Clients#keep()}
     */
    static Dialect.Clients clients(String create, String keep) {
        return new Dialect.Clients(
                create,
                "SELECT holder, origin, expires_at, told, taken FROM leasehold_client WHERE 1 = 0",
                keep,
                "SELECT told FROM leasehold_client WHERE holder = ? AND origin = ? AND expires_at > ?",
                "SELECT taken FROM leasehold_client WHERE holder = ?",
                "UPDATE leasehold_client SET taken = ? WHERE holder = ?",
                "DELETE FROM leasehold_client WHERE origin <> ? OR expires_at <= ?");
    }

    /** With a table made by the last of these statements. */
    static Dialect.Clients clients(List<String> create, String keep) {
        return clients(create.get(create.size() - 1), keep);
    }
}
