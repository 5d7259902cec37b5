package io.leasehold.jdbc.row;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The columns of fencing tokens of a table, and the statements about them.
 *
 * <p>The newest token stands in one column. For readers two more keep the token of the newest writer, and the newest
 * token at which it counts. A writer changes the newest token alone, so the other two cease to count, whatever version
 * or statement wrote it. Then the newest token counts as a writer's.
 *
 * @param token the column of the newest token
 * @param readers the other two, or null
 */
public record FencingColumns(Column token, @Nullable ForReaders readers) {

    /** Leaves room for the endings of the names for readers. */
    private static final int MAX_NAME = 50;

    /** Refuses columns of which two are one: each statement would then compare a number with itself. */
    public FencingColumns {
        List<String> names = new ArrayList<>(List.of(token.key(), token.name()));
        if (readers != null) {
            names.addAll(List.of(readers.writer.name(), readers.writerAt.name()));
        }
        Set<String> different = new HashSet<>();
        for (String name : names) {
            // Without quotes, names that differ in case are one.
            if (!different.add(name.toLowerCase(Locale.ROOT))) {
                throw new IllegalArgumentException(
                        "column " + name + " of " + token.table() + " is named twice: key and tokens need one each");
            }
        }
    }

    /**
     * The columns that readers need.
     *
     * @param writer the token of the newest writer; null if it is the newest token
     * @param writerAt the newest token at which {@code writer} counts
     */
    public record ForReaders(Column writer, Column writerAt) {
        /** The statements that add these columns to their table. */
        public List<String> additions() {
            return List.of(addition(writer), addition(writerAt));
        }

        private String effective(String newest) {
            return "CASE WHEN " + writerAt.name() + " = " + newest + " AND " + writer.name() + " BETWEEN 0 AND "
                    + newest + " THEN " + writer.name() + " ELSE " + newest + " END";
        }
    }

    /** Columns for readers of a table that has none, named after the column of the newest token. */
    public ForReaders readersToAdd() {
        String name = token.name().replaceFirst("_token$", "");
        String writer = name.substring(0, Math.min(name.length(), MAX_NAME)) + "_writer";
        return new ForReaders(
                new Column(token.table(), token.key(), writer), new Column(token.table(), token.key(), writer + "_at"));
    }

    /** The statements that add these columns to their table. */
    public List<String> additions() {
        List<String> all = new ArrayList<>(List.of(addition(token)));
        if (readers != null) {
            all.addAll(readers.additions());
        }
        return all;
    }

    private static String addition(Column column) {
        return "ALTER TABLE " + column.table() + " ADD COLUMN " + column.name() + " BIGINT";
    }

    /** Registers a writer's token; its parameters are the token, the key, and the token. */
    public String registerWriter() {
        String newest = token.name();
        String ownWriter = readers == null ? "" : readers.writer.name() + " = NULL, ";
        return "UPDATE " + token.table() + " SET " + ownWriter + newest + " = ? WHERE " + token.key() + " = ? AND ("
                + newest + " IS NULL OR " + newest + " <= ?)";
    }

    /** Registers a reader's token; its parameters are the token four times, the key, and the token. */
    public String registerReader(ForReaders columns) {
        String newest = token.name();
        String larger = "CASE WHEN " + newest + " >= ? THEN " + newest + " ELSE ? END";
        String writer = columns.effective(newest);
        // In this order, since MariaDB and MySQL compute each value from those to its left that are already new.
        return "UPDATE " + token.table() + " SET " + columns.writer.name() + " = CASE WHEN " + newest
                + " IS NULL THEN 0 ELSE " + writer + " END, " + columns.writerAt.name() + " = " + larger + ", " + newest
                + " = " + larger + " WHERE " + token.key() + " = ? AND (" + newest + " IS NULL OR " + writer + " <= ?)";
    }

    /**
     * Selects the newest token and the newest writer's; its parameter is the key.
     *
     * @param how what follows the condition
     */
    public String select(String how) {
        String newest = token.name();
        return "SELECT " + newest + ", " + (readers == null ? newest : readers.effective(newest)) + " FROM "
                + token.table() + " WHERE " + token.key() + " = ?" + how;
    }
}
