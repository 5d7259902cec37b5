package io.leasehold.verify.variants;

import java.util.List;

/** Variants of the lease table. */
final class SqlVariants {

    private static final String VERBS = "jdbc/store/LeaseVerbs.java";
    private static final String ROWS = "jdbc/store/TableRows.java";
    private static final String RULES = "jdbc/lease/LeaseRules.java";

    private SqlVariants() {}

    static List<Variant> all() {
        // Long because it is a table.
        return List.of(
                new Variant(
                        "sql-prune-by-name",
                        "a row that was idle when it was read is deleted, whatever has changed since",
                        ROWS,
                        "row.equals(table.findUnlessLocked(row.name(), one.stored()))",
                        "table.findUnlessLocked(row.name(), one.stored()) != null"),
                new Variant("sql-clock-before-the-row", "the time is read before the row is locked", ROWS, """
                        Set<LockName> absent = new HashSet<>();
                                for (LockName name : names) {
                                    LeaseRow row = table.find(name);
                                    found.add(row);
                                    if (row == null) {
                                        absent.add(name);
                                    }
                                }
                                StoreTime now = clock.readBehindRows(table, askedAtNanos);
                        """, """
                        Set<LockName> absent = new HashSet<>();
                                StoreTime now = clock.read(table);
                                for (LockName name : names) {
                                    LeaseRow row = table.find(name);
                                    found.add(row);
                                    if (row == null) {
                                        absent.add(name);
                                    }
                                }
                        """),
                new Variant(
                        "sql-whole-row-write",
                        "a row that is not locked is decided on and written as a whole: what another changed meanwhile is"
                                + " overwritten",
                        ROWS,
                        """
                        for (LockName name : names) {
                                    LeaseRow row = table.find(name);
                        """,
                        """
                        for (LockName name : names) {
                                    LeaseRow row = table.read(name);
                        """),
                new Variant(
                        "sql-release-without-owner-check",
                        "a release ends any hold",
                        RULES,
                        "return row.isHeldBy(owner) ? raised.freedAt(now.nanos()) : raised;",
                        "return raised.freedAt(now.nanos());"),
                new Variant(
                        "sql-renew-without-owner-check",
                        "a renewal extends any hold",
                        RULES,
                        "if (held == null || !row.isHeldBy(owner)) {\n            return null;",
                        "if (held == null) {\n            return null;"),
                new Variant(
                        "sql-fence-lost-at-delete",
                        "the fence of a deleted row is not kept in the floor",
                        ROWS,
                        "table.raiseFenceFloor(floor);",
                        ""),
                new Variant(
                        "sql-floor-ignored",
                        "a row that is created again ignores the floor",
                        ROWS,
                        "long floor = absent.isEmpty() ? 0 : table.fenceFloor();",
                        "long floor = 0;"),
                new Variant(
                        "sql-retention-by-the-clients-clock",
                        "the client's clock determines how long a row has been idle",
                        ROWS,
                        "now.wallMicros() - retention.toNanos() / 1000)",
                        "runtime.wallMillis() * 1000 - retention.toNanos() / 1000)"),
                new Variant(
                        "sql-held-rows-pruned",
                        "a row is deleted without a check for a hold",
                        ROWS,
                        "lives.asOf(row, now).held() == null && row.equals",
                        "row.equals"),
                new Variant(
                        "sql-validity-from-the-reply",
                        "validity counts from the reply with the time, not from the query for it",
                        "jdbc/store/DatabaseClock.java",
                        "return new StoreTime(KIND, micros * 1000, micros, readAtNanos);",
                        "return new StoreTime(KIND, micros * 1000, micros, runtime.nanoTime());"),
                new Variant(
                        "sql-quick-grant-from-the-reply",
                        "the validity of a single statement's grant counts from its reply",
                        VERBS,
                        "new Grant(request.owner(), tokens, readAtNanos, table.incarnation()), List.of());\n        }",
                        "new Grant(request.owner(), tokens, runtime.nanoTime(), table.incarnation()), List.of());\n"
                                + "        }"),
                new Variant(
                        "sql-fence-not-counted",
                        "a token is not above the fence of the row",
                        RULES,
                        "return Math.max(Math.max(1, fence + 1), Math.max(request.seenToken() + 1, now.wallMicros()));",
                        "return Math.max(1, Math.max(request.seenToken() + 1, now.wallMicros()));"),
                new Variant(
                        "sql-nobody-told",
                        "a release notifies no waiter",
                        "jdbc/store/NotificationWatch.java",
                        "if (before.waiter() != null) {",
                        "if (before.waiter() == null) {"),
                new Variant(
                        "sql-rollback-forgotten",
                        "a connection is used again with its failed transaction",
                        "jdbc/store/LeaseTable.java",
                        """
                        } else if (!connection.getAutoCommit()) {
                                    connection.rollback();
                        """,
                        """
                        } else if (!connection.getAutoCommit()) {
                        """));
    }
}
